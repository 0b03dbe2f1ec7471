// Package access owns the one decision that every call from outside meets:
// may this caller do this to this thing, as things stand at this moment?
//
// It holds the words of that decision (Principal, Scope, Right, Permission,
// Permit, Error) and the decision itself, Check. A caller of Check names a
// credential and what the call needs; Check reads the facts with one statement
// through Source, inside the unit of work of the effect, and either hands out a
// Permit or says which condition failed first:
//
//	token → scope → connection → workspace → approver → project → local-only → ACL
//
// Package access imports nothing of ours. Facts are read by package storage,
// which implements Source; nothing is ever remembered from one call to the next.
package access
