//go:build race

package dict

const raceDetector = true
