package oauth

import (
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// People knows who is signed in. Package api's sessions implement it.
type People interface {
	// Browser is the person of the request's session cookie; ok is false if nobody
	// is signed in. A personal token does not count. An error is the database's.
	Browser(r *http.Request) (p access.Principal, ok bool, err error)
	// FormToken is what a form of this browser session must send back in the field
	// FormTokenField, for this purpose.
	FormToken(r *http.Request, purpose string) string
	// CheckForm reports whether the parsed form of r sent it back.
	CheckForm(r *http.Request, purpose string) bool
}

// FormTokenField is the form field that carries what People.FormToken gave.
const FormTokenField = "form_token"

// Pages draws what people see. Package web implements it. Each method writes the
// whole answer: status, headers (no-store, no-referrer, not to be framed) and body.
type Pages interface {
	// Consent asks the person for a decision: 200, or 422 where Error is set.
	Consent(w http.ResponseWriter, r *http.Request, p ConsentPage)
	// TakingYouBack answers 200 with a meta refresh and a link id="continue", both
	// to p.To.
	TakingYouBack(w http.ResponseWriter, r *http.Request, p BackPage)
	// Refused says why there is nothing to decide. It never leads elsewhere, except
	// by the link that p.Back is, if any.
	Refused(w http.ResponseWriter, r *http.Request, p RefusedPage)
}

// The fields of the consent form (product.md §2). FormTokenField comes along.
const (
	FieldRequest   = "request"      // hidden: the ID of the pending request
	FieldWorkspace = "workspace_id" // radio: exactly one
	FieldApprove   = "approve"      // checkbox in each workspace's row: its ID
	FieldScope     = "scope"        // checkboxes; osfoundry:read is hidden
	FieldReplace   = "replace"      // checkbox, value "yes": end the earlier connection
	FieldDecision  = "decision"     // button: connect or cancel
)

// Destination is where the browser goes after the decision.
type Destination struct {
	// Host names it to a person: claude.ai, localhost:53682, or cursor://….
	Host string
	// Loopback is a program on the person's own computer, or somebody's who sent
	// them a link: the page warns (RFC 8252 §8.3, "ConsentFix").
	Loopback bool
	// App is a program that registered the URL scheme on the device.
	App bool
	// Source is the origin or scheme for CSP form-action, which Chromium applies
	// to redirects that follow a form.
	Source string
}

// ConsentPage is what the consent page shows.
type ConsentPage struct {
	RequestID   string
	FormToken   string
	Person      access.Principal
	ClientName  string // what the client calls itself, unverified
	ClientHost  string // of the document that says so; "" for a registered client
	Registered  time.Time
	Destination Destination
	Workspaces  []WorkspaceChoice
	Scopes      []ScopeChoice
	Replace     bool          // the box to end the earlier connection is ticked
	Idle        time.Duration // how long the connection lives without use
	Expires     time.Time     // of the request
	Error       Mistake       // "" on the first showing
}

// Mistake says why a form was refused. The page words it.
type Mistake string

// The mistakes.
const (
	NoWorkspace      Mistake = "no_workspace"      // none was chosen
	ManyWorkspaces   Mistake = "many_workspaces"   // more than one was
	ForeignWorkspace Mistake = "foreign_workspace" // one where the person is neither owner nor editor
	NotApproved      Mistake = "not_approved"      // the tick is missing, or names another workspace
	NoDecision       Mistake = "no_decision"       // neither button
)

// WorkspaceChoice is one row of workspaces.
type WorkspaceChoice struct {
	ID       string
	Name     string
	Role     access.Role
	Possible bool // the person may connect an assistant to it: owner or editor
	Chosen   bool // the radio
	Ticked   bool // the approval
	// Earlier is set where the person connected the same client before.
	Earlier *Earlier
}

// ScopeChoice is one permission that was asked for.
type ScopeChoice struct {
	Scope  string // osfoundry:read …; the page has the words
	Fixed  bool   // always given
	Ticked bool
}

// BackPage is the page after the decision.
type BackPage struct {
	To            string // where the browser goes next
	Destination   Destination
	ClientName    string
	Connected     bool   // false: cancelled
	WorkspaceID   string // where it was connected
	WorkspaceName string
}

// RefusedPage says why a request is not decided here.
type RefusedPage struct {
	Status     int
	Reason     Reason
	ClientName string // unverified; "" where the client is unknown
	Detail     string // for who builds the client, in English: which parameter, and why
	// Back takes the refusal to the client when the person follows it; "" where the
	// redirect is not the client's.
	Back        string
	Destination Destination // of Back
}

// Reason is what the page tells the person. The page words it.
type Reason string

// The reasons.
const (
	UnknownClient    Reason = "unknown_client"    // it never registered here, or too long ago
	BadDocument      Reason = "bad_document"      // its metadata document cannot be used
	BadRedirect      Reason = "bad_redirect"      // not one that the client registered
	BadRequest       Reason = "bad_request"       // the client asked wrongly
	TooOld           Reason = "too_old"           // more than ten minutes, or never made here
	AlreadyDecided   Reason = "already_decided"   // by this browser, a moment ago
	OtherBrowser     Reason = "other_browser"     // it was begun in another browser
	FormTooOld       Reason = "form_too_old"      // the form is of another session
	ForeignOrigin    Reason = "foreign_origin"    // another site sent the form
	TooManyRequests  Reason = "too_many_requests" // wait a little
	TryAgain         Reason = "try_again"         // the database or the document is not to be reached
	SomethingIsWrong Reason = "something_is_wrong"
)
