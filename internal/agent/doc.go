// Package agent does the work of sessions: it takes a queued task round by round
// until it is over. What a round is told, who takes it, which tools it may use
// and what its end means lies here; the durable queue that calls it is package
// queue, and the models and commands that take turns are the packages under
// provider.
//
//	a job of the queue names a task and a round
//	  → begin: the round's row is taken (its attempt counts up), the budget is debited
//	  → turn:  the provider is asked; text is appended to the row as it comes
//	  → tools: each call passes the gate, as a call of whoever started the task
//	  → end:   one transaction completes the job, commits the round, and queues the
//	           next round or ends the task
//
// A process that dies between begin and end leaves a row that says so. Whoever
// takes the round over asks the provider again, unless the turn could have had an
// effect outside: then the task waits for a person. Tool calls carry keys made of
// task, round and number, so that a round which is taken twice acts once.
package agent
