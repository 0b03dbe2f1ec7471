// Package rehearse owns the experiments that show what the rules are worth: the
// nine steps under two kinds of check and what a check costs, the seats and races
// of handoffs, and run requests whose answers are lost (product.md §8).
//
// Each runs on a model of the rules, which is served on a free loopback port and
// called by a host over real HTTP. The model keeps everything in memory and has of
// the check of product.md §3: token, tool, scope, connection, current project,
// seat, ownership and the replay of keys. Databases, workspaces, people, ACLs,
// versions, schemas and rate limits are not in it; the live schemas of a real
// server are package probe's to judge.
package rehearse
