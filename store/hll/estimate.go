package hll

import "math"

// Count estimates how many different elements were added.
func Count(b []byte) (uint64, error) {
	var h histogram
	if b[4] == dense {
		for i := range registerCount {
			h[get(b, i)]++
		}
		return h.estimate(), nil
	}
	err := eachRun(b, func(_, n int, value uint8) { h[value] += n })
	return h.estimate(), err
}

// Count estimates the number of different elements that were added to all merged HyperLogLogs.
func (r *Registers) Count() uint64 {
	var h histogram
	for _, v := range r {
		h[v]++
	}
	return h.estimate()
}

// histogram counts the registers by their value.
type histogram [1 << registerBits]int

// estimate is Ertl's estimator. Products are rounded before they are added, so that no machine fuses the two
// operations and gets another number than Redis.
func (h *histogram) estimate() uint64 {
	const m = float64(registerCount)
	z := m * tau((m-float64(h[rankBits+1]))/m)
	for k := rankBits; k >= 1; k-- {
		z += float64(h[k])
		z *= 0.5
	}
	z += float64(m * sigma(float64(h[0])/m))
	const alpha = 0.721347520444481703680 // 1/(2 ln 2)
	return uint64(math.Round(alpha * m * m / z))
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += float64(x * y)
		y += y
		if z == before {
			return z
		}
	}
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= float64(float64((1-x)*(1-x)) * y)
		if z == before {
			return z / 3
		}
	}
}
