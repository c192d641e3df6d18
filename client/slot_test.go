package client

import "testing"

// TestSlotOf: the slots are those that CLUSTER KEYSLOT of Redis 7.4.1 answers.
func TestSlotOf(t *testing.T) {
	for key, slot := range map[string]int{
		"": 0, "foo": 12182, "123456789": 12739, "{foo}.bar": 12182, "a{foo}b{bar}": 12182, "{}foo": 9500, "foo{}{bar}": 8363, "foo{{bar}}": 4015, "foo{bar": 15278,
	} {
		if got := slotOf(key); got != slot {
			t.Errorf("the slot of %q is %d and not %d", key, got, slot)
		}
	}
}
