package commands

// Families returns the tables of all families, the argument of NewTable. A new family adds its line here.
func Families() [][]Row {
	return [][]Row{
		CommandRows(), StringRows(), KeyRows(), KeyspaceRows(), SortRows(), HashRows(), ListRows(), SetRows(), BitRows(), HyperLogLogRows(), BloomRows(), ZSetRows(), GeoRows(), StreamRows(), LockRows(), SemaphoreRows(), LatchRows(), SaleRows(), LimitRows(), DelayRows(),
	}
}
