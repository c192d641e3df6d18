package wait

import (
	"slices"

	"lockserver/commands"
)

// Rows are the commands that show waits and holders of locks and semaphores, and that change queues.
func Rows() []commands.Row {
	return slices.Concat(lockRows(), lockQueueRows(), lockAskRows(), lockHistoryRows(), semaphoreRows())
}
