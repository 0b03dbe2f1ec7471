package access

import (
	"errors"
	"fmt"
)

// Code says why a call was refused. The list is a contract (product.md §3):
// hosts and people read these words.
type Code string

// The codes of the contract, in the order in which the check meets them.
const (
	InvalidToken        Code = "invalid_token"      // HTTP 401
	InsufficientScope   Code = "insufficient_scope" // HTTP 403
	InvalidArguments    Code = "invalid_arguments"  // details: errors, a list of {pointer, message}
	ConnectionRevoked   Code = "connection_revoked"
	ConnectionPaused    Code = "connection_paused"
	NotFound            Code = "not_found"
	ApproverLostAccess  Code = "approver_lost_access"
	NotInProject        Code = "not_in_project"
	LocalOnly           Code = "local_only"
	ACLDenied           Code = "acl_denied"
	NotInChannel        Code = "not_in_channel"
	SeatRequired        Code = "seat_required" // details: needed, have
	NotYours            Code = "not_yours"
	HumanRequired       Code = "human_required" // details: url
	IdempotencyMismatch Code = "idempotency_mismatch"
	InProgress          Code = "in_progress"
	VersionConflict     Code = "version_conflict" // details: current_version, diff
	AlreadyDecided      Code = "already_decided"  // details: state
	RateLimited         Code = "rate_limited"     // details: retry_after_ms
	TooLarge            Code = "too_large"
	Busy                Code = "busy"

	// Codes that only people meet, through the owner API.

	Unauthenticated Code = "unauthenticated" // HTTP 401: sign in
	Forbidden       Code = "forbidden"       // HTTP 403: the role does not allow it
	SignInAgain     Code = "sign_in_again"   // HTTP 403: the sign-in is too old for this
	Conflict        Code = "conflict"        // HTTP 409: e.g. an e-mail address that is taken
	Changed         Code = "changed"         // HTTP 409: what was shown is not what is there; details: state, digest
	Unavailable     Code = "unavailable"     // HTTP 503 with Retry-After: nothing was changed, or it is unknown whether
	Internal        Code = "internal"        // a fault of ours; the log has the cause
)

// Error is a refusal with one text for the caller and one cause for the log.
// It is mapped to HTTP, OAuth or MCP once, at the edge of the room that answers.
type Error struct {
	Code    Code
	Message string         // for the caller: what happened and what to do; never a secret, path or SQL
	Details map[string]any // for the caller: what the code carries; may be nil
	Cause   error          // for the log only
}

// Refuse makes an Error with a message for the caller.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With adds a detail that the code carries and returns e.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// Because adds the cause for the log and returns e.
func (e *Error) Because(cause error) *Error { e.Cause = cause; return e }

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// CodeOf is the code of the first Error in err's chain, Internal for any other
// error and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
