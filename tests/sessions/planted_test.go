package sessions

import "testing"

// TestPlantedFaultsAreFound shows that a server that makes one of the mistakes of faults is
// found out by what TestHistories does.
func TestPlantedFaultsAreFound(t *testing.T) { hunt.Test(t, "../..", faults) }
