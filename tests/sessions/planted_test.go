package sessions

import "testing"

// TestPlantedFaultsAreFound: the search of TestHistories finds each of faults.
func TestPlantedFaultsAreFound(t *testing.T) { hunt.Test(t, "../..", faults) }
