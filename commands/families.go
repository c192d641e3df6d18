package commands

// Families are the tables of all families: what a server passes to NewTable. A new family adds its line here.
func Families() [][]Row {
	return [][]Row{
		CommandRows(), StringRows(), KeyRows(), KeyspaceRows(), SortRows(), HashRows(), ListRows(), SetRows(), BitRows(), HyperLogLogRows(), BloomRows(), ZSetRows(), GeoRows(), StreamRows(), LockRows(), SemaphoreRows(), LatchRows(), SaleRows(), LimitRows(), DelayRows(),
	}
}
