package geohash

import "math"

// These sines are rounded correctly, except for about one in a hundred thousand, like most sines of the C
// library. They are the same on every machine. The results of package math are often wrong by a unit in the
// last place. Clients see the difference: a distance around half the world multiplies it by ten thousand.
//
// Source: T. J. Dekker, "A floating-point technique for extending the available precision", 1971.

// double is a number of twice the precision: the sum of two, lo being at most half a
// unit in the last place of hi.
type double struct{ hi, lo float64 }

// sum is a + b, exactly.
func sum(a, b float64) double {
	s := a + b
	part := s - a
	return double{s, (a - (s - part)) + (b - part)}
}

func (a double) add(b double) double {
	s := sum(a.hi, b.hi)
	return sum(s.hi, s.lo+a.lo+b.lo)
}

func (a double) times(b double) double {
	p := float64(a.hi * b.hi)
	rest := math.FMA(a.hi, b.hi, -p) + float64(a.hi*b.lo) + float64(a.lo*b.hi)
	return sum(p, rest)
}

// series sums a Taylor series in x2. The terms of first need more than their own precision; the terms of
// others follow them.
func series(x2 double, first [4]double, others []float64) double {
	rest := 0.0
	for _, c := range others { // the last term is named first
		rest = float64(rest*x2.hi) + c
	}
	total := double{hi: rest}
	for i := len(first) - 1; i >= 0; i-- {
		total = total.times(x2).add(first[i])
	}
	return total
}

// sineSeries computes the sine of x divided by x from the square of an x of up to an eighth of a turn:
// x^2n/(2n+1)! with alternating signs.
func sineSeries(x2 double) double {
	return series(x2, [4]double{{hi: 1}, {-1.0 / 6, -9.25185853854297e-18}, {1.0 / 120, 1.1564823173178714e-19},
		{-1.0 / 5040, -1.7209558293420705e-22}}, []float64{
		1.0 / 51090942171709440000, -1.0 / 121645100408832000, 1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800,
		-1.0 / 39916800, 1.0 / 362880})
}

// cosineSeries computes the cosine in the same way: x^2n/(2n)!.
func cosineSeries(x2 double) double {
	return series(x2, [4]double{{hi: 1}, {hi: -1.0 / 2}, {1.0 / 24, 2.3129646346357427e-18}, {-1.0 / 720, 5.300543954373577e-20}},
		[]float64{
			-1.0 / 1124000727777607680000, 1.0 / 2432902008176640000, -1.0 / 6402373705728000, 1.0 / 20922789888000,
			-1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320})
}

// sine returns the sine of x plus a number of right angles. |x| is at most some hundred.
func sine(x float64, rightAngles int) double {
	k := math.Round(x * (2 / math.Pi))
	rightAngle := double{1.5707963267948966, 6.123233995736766e-17}
	r := double{hi: x}.add(rightAngle.times(double{hi: -k}))
	var s double
	if rightAngles += int(k); rightAngles&1 == 0 {
		s = r.times(sineSeries(r.times(r)))
	} else {
		s = cosineSeries(r.times(r))
	}
	if rightAngles&2 != 0 {
		return double{-s.hi, -s.lo}
	}
	return s
}

func sin(x float64) float64 { return sine(x, 0).hi }

func cos(x float64) float64 { return sine(x, 1).hi }

// asin improves the result of package math by one step of Newton's method. x is from 0 to 1.
func asin(x float64) float64 {
	y := math.Asin(x)
	if x >= 1 {
		return y
	}
	off := double{hi: x}.add(sine(-y, 0))
	return y + off.hi/math.Cos(y)
}
