package access

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

var now = time.UnixMilli(1_800_000_000_000)

// each calls f with every combination of one option for each row.
func each(rows []int, f func(pick []int)) {
	pick := make([]int, len(rows))
	for {
		f(pick)
		i := 0
		for ; i < len(rows); i++ {
			if pick[i]++; pick[i] < rows[i] {
				break
			}
			pick[i] = 0
		}
		if i == len(rows) {
			return
		}
	}
}

func no(i int) bool { return i == 1 }

var (
	roles    = []Role{RoleEditor, RoleOwner, RoleViewer, ""}
	statuses = []string{"active", "paused", "revoked", "", "ACTIVE"}
	rights   = []Right{RightNone, RightView, RightEdit, RightManage}
)

// connectionCase is one state of the world for a call of a connection, whose
// conditions are named as product.md §3 names them.
type connectionCase struct {
	facts Facts
	need  Permission
	ref   Ref
}

// connectionConditions is the contract of product.md §3, written a second time: in
// this order, the first that holds answers.
var connectionConditions = []struct {
	code Code
	when func(c connectionCase) bool
}{
	{InvalidToken, func(c connectionCase) bool { return !c.facts.TokenKnown }},
	{InvalidToken, func(c connectionCase) bool { return c.facts.TokenExpires <= now.UnixMilli() }},
	{InvalidToken, func(c connectionCase) bool { return c.facts.TokenRevoked }},
	{InsufficientScope, func(c connectionCase) bool { return c.facts.Scopes&c.need.Scopes != c.need.Scopes }},
	{ConnectionPaused, func(c connectionCase) bool { return c.facts.ConnectionStatus == "paused" }},
	{ConnectionRevoked, func(c connectionCase) bool { return c.facts.ConnectionStatus != "active" }},
	{NotFound, func(c connectionCase) bool { return named(c) && !c.facts.Found }},
	{ApproverLostAccess, func(c connectionCase) bool { return c.facts.UserDisabled }},
	{ApproverLostAccess, func(c connectionCase) bool { return c.facts.Role == RoleViewer || c.facts.Role == "" }},
	{ApproverLostAccess, func(c connectionCase) bool {
		return named(c) && c.facts.ProjectPrivate && !c.facts.ProjectMember
	}},
	{NotInProject, func(c connectionCase) bool { return named(c) && !c.facts.ProjectGranted }},
	{LocalOnly, func(c connectionCase) bool { return named(c) && c.facts.LocalOnly }},
	{ACLDenied, func(c connectionCase) bool { return named(c) && c.facts.HasACL && c.facts.ACLRight != RightEdit }},
	{HumanRequired, func(c connectionCase) bool { return c.need.Right != RightView && c.need.Right != RightEdit }},
}

func named(c connectionCase) bool { return c.ref.Kind != KindConnection }

func TestCheckConnectionAnswersTheFirstConditionThatFails(t *testing.T) {
	kinds := []Kind{KindConnection, KindProject, KindNote}
	aclRights := []Right{RightEdit, RightView, RightNone}
	rows := []int{2, 2, 2, 2, len(statuses), 2, 2, len(roles), 2, 2, 2, 2, 2, len(aclRights), len(kinds), len(rights)}
	seen := map[Code]int{}
	each(rows, func(p []int) {
		c := connectionCase{
			facts: Facts{
				TokenKnown: !no(p[0]), TokenExpires: now.UnixMilli() + 1 - int64(p[1]), TokenRevoked: no(p[2]), Scopes: ScopeRead,
				ConnectionID: "c", ConnectionStatus: statuses[p[4]], UserID: "u", UserDisabled: no(p[6]), WorkspaceID: "w", Role: roles[p[7]],
				Found: !no(p[5]), ProjectID: "p", ProjectPrivate: no(p[8]), ProjectMember: !no(p[9]), ProjectGranted: !no(p[10]),
				LocalOnly: no(p[11]), HasACL: no(p[12]), ACLRight: aclRights[p[13]],
			},
			need: Permission{Scopes: ScopeRead, Right: rights[p[15]]},
			ref:  Ref{Kind: kinds[p[14]], ID: "x"},
		}
		if no(p[3]) {
			c.need.Scopes |= ScopeWrite
		}
		var want Code
		for _, condition := range connectionConditions {
			if condition.when(c) {
				want = condition.code
				break
			}
		}
		permit, err := CheckConnection(c.facts, c.need, c.ref, now)
		if got := CodeOf(err); got != want {
			t.Fatalf("got %q, want %q for need %+v of %+v with %+v", got, want, c.need, c.ref, c.facts)
		}
		seen[want]++
		if (err == nil) != (permit.Covers(c.ref.Kind, RightView) == nil) {
			t.Fatalf("error %v, but the permit is %+v", err, permit)
		}
	})
	for _, condition := range connectionConditions {
		if seen[condition.code] == 0 {
			t.Errorf("%s was never the answer", condition.code)
		}
	}
	if seen[""] == 0 {
		t.Error("nothing was ever allowed")
	}
}

func TestCheckConnectionDeniesIncompleteFacts(t *testing.T) {
	good := Facts{TokenKnown: true, TokenExpires: now.UnixMilli() + 1, Scopes: ScopeRead, ConnectionID: "c", ConnectionStatus: "active", UserID: "u", WorkspaceID: "w", Role: RoleOwner}
	need, ref := Permission{Scopes: ScopeRead, Right: RightView}, Ref{Kind: KindConnection}
	if _, err := CheckConnection(good, need, ref, now); err != nil {
		t.Fatalf("the complete facts are refused: %v", err)
	}
	for name, spoil := range map[string]func(f *Facts){
		"zero":          func(f *Facts) { *f = Facts{} },
		"no connection": func(f *Facts) { f.ConnectionID = "" },
		"no approver":   func(f *Facts) { f.UserID = "" },
		"no workspace":  func(f *Facts) { f.WorkspaceID = "" },
		"no scope":      func(f *Facts) { f.Scopes = 0 },
		"no role":       func(f *Facts) { f.Role = "" },
		"unknown role":  func(f *Facts) { f.Role = "admin" },
		"no status":     func(f *Facts) { f.ConnectionStatus = "" },
	} {
		f := good
		spoil(&f)
		if permit, err := CheckConnection(f, need, ref, now); err == nil || permit.Covers(KindConnection, RightView) == nil {
			t.Errorf("%s: allowed with %+v", name, f)
		}
	}
}

func TestATokenOfNothingIsNoToken(t *testing.T) {
	good := Facts{TokenKnown: true, TokenExpires: now.UnixMilli() + 1, Scopes: ScopeRead, ConnectionID: "c", UserID: "u", WorkspaceID: "w"}
	if who, err := Identify(good, now); err != nil || who.Credential != CredentialAccessToken || who.ConnectionID != "c" {
		t.Fatalf("got %+v and %v", who, err)
	}
	for name, spoil := range map[string]func(f *Facts){
		"scope":      func(f *Facts) { f.Scopes = 0 },
		"connection": func(f *Facts) { f.ConnectionID = "" },
		"approver":   func(f *Facts) { f.UserID = "" },
		"workspace":  func(f *Facts) { f.WorkspaceID = "" },
	} {
		f := good
		spoil(&f)
		if _, err := Identify(f, now); CodeOf(err) != InvalidToken {
			t.Errorf("without %s: got %v, want %s", name, err, InvalidToken)
		}
	}
}

func TestInsufficientScopeNamesGrantedAndNeeded(t *testing.T) {
	err := NeedScopes(Principal{Scopes: ScopeRead | ScopeRun}, ScopeWrite)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	if want := "osfoundry:read osfoundry:write osfoundry:run"; e.Details["scope"] != want {
		t.Errorf("got %v, want %q", e.Details["scope"], want)
	}
}

func TestAPermitCoversItsThingAndRightOnly(t *testing.T) {
	f := Facts{
		TokenKnown: true, TokenExpires: now.UnixMilli() + 1, Scopes: ScopeRead | ScopeWrite, ConnectionID: "c", ConnectionStatus: "active",
		UserID: "u", WorkspaceID: "w", Role: RoleOwner, Found: true, ProjectID: "p", ProjectGranted: true,
	}
	permit, err := CheckConnection(f, Permission{Scopes: ScopeRead, Right: RightView}, Ref{Kind: KindNote, ID: "n"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if permit.ID() != "n" || permit.Project() != "p" || permit.Workspace() != "w" || permit.Principal().ConnectionID != "c" {
		t.Errorf("got a permit for %+v", permit)
	}
	for _, kind := range []Kind{KindNote, KindProject, KindConnection, KindWorkspace, ""} {
		for _, right := range append(rights, RightManage+1) {
			want := kind == KindNote && right == RightView
			if got := permit.Covers(kind, right) == nil; got != want {
				t.Errorf("covers %s of %q: got %v, want %v", right, kind, got, want)
			}
			if (Permit{}).Covers(kind, right) == nil {
				t.Errorf("the zero permit covers %s of %q", right, kind)
			}
		}
	}
}

func TestAConnectionsPermitNamesTheConnectionItself(t *testing.T) {
	f := Facts{TokenKnown: true, TokenExpires: now.UnixMilli() + 1, Scopes: ScopeRead, ConnectionID: "c", ConnectionStatus: "active", UserID: "u", WorkspaceID: "w", Role: RoleEditor}
	permit, err := CheckConnection(f, Permission{Scopes: ScopeRead, Right: RightView}, Ref{Kind: KindConnection, ID: "another"}, now)
	if err != nil || permit.ID() != "c" {
		t.Errorf("got a permit for %q and %v, want the caller's own connection", permit.ID(), err)
	}
}

// personPolicy says what each role may do, with the letters of
//
//	v view, e edit, m manage
//
// for a person in the project (or where there is none), and outside of a private
// project. Where a resource has an ACL, v and e also need that right on it.
var personPolicy = map[Kind]map[Role]struct{ inside, outside string }{
	KindWorkspace:  {RoleOwner: {"vem", "vem"}, RoleEditor: {"ve", "ve"}, RoleViewer: {"v", "v"}},
	KindConnection: {RoleOwner: {"vem", "vem"}, RoleEditor: {"v", "v"}, RoleViewer: {"v", "v"}},
	KindProject:    {RoleOwner: {"vem", "m"}, RoleEditor: {"ve", ""}, RoleViewer: {"v", ""}},
	KindNote:       {RoleOwner: {"vem", ""}, RoleEditor: {"ve", ""}, RoleViewer: {"v", ""}},
}

// mayByPolicy reads the table. Two persons may more than their role: the approver
// of a connection, and the editor who made a project and can open it.
func mayByPolicy(f Facts, kind Kind, right Right) bool {
	if right == RightNone {
		return false
	}
	row := personPolicy[kind][f.Role]
	allowed := row.inside
	if f.ProjectPrivate && !f.ProjectMember && (kind == KindProject || kind == KindNote) {
		allowed = row.outside
	}
	if kind == KindConnection && f.OwnConnection {
		allowed = "vem"
	}
	if allowed == "ve" && f.ProjectOwner && (kind == KindProject || kind == KindNote) {
		allowed = "vem"
	}
	letter := " vem"[right]
	for i := range allowed {
		if allowed[i] != letter {
			continue
		}
		listed := kind != KindNote || !f.HasACL || right == RightManage || f.ACLRight >= right
		return listed
	}
	return false
}

func TestCheckPersonFollowsThePolicy(t *testing.T) {
	kinds := []Kind{KindWorkspace, KindProject, KindConnection, KindNote}
	credentials := []Credential{CredentialSession, CredentialPersonalToken, CredentialNone, CredentialAccessToken}
	users := []string{"u", "", "another"}
	aclRights := []Right{RightEdit, RightView, RightNone}
	rows := []int{len(credentials), len(users), 2, 2, 2, len(roles), 2, 2, 2, 2, len(aclRights), 2, 2, len(kinds), len(rights)}
	allowed := map[string]int{}
	each(rows, func(p []int) {
		f := Facts{
			UserID: "u", UserDisabled: no(p[2]), Found: !no(p[3]), WorkspaceID: "w", Role: roles[p[5]],
			ProjectPrivate: no(p[6]), ProjectMember: !no(p[7]), ProjectOwner: no(p[8]), HasACL: no(p[9]), ACLRight: aclRights[p[10]],
			OwnConnection: no(p[11]), LocalOnly: no(p[12]),
		}
		if no(p[4]) {
			f.WorkspaceID = ""
		}
		who := Principal{Credential: credentials[p[0]], UserID: users[p[1]]}
		kind, right := kinds[p[13]], rights[p[14]]
		permit, err := CheckPerson(f, who, Permission{Right: right}, Ref{Kind: kind, ID: "x"})
		describe := func() string { return fmt.Sprintf("%s of %s by %+v with %+v", right, kind, who, f) }
		switch got := CodeOf(err); {
		case who.UserID != "u" || f.UserDisabled || who.Credential != CredentialSession && who.Credential != CredentialPersonalToken:
			if got != Unauthenticated {
				t.Fatalf("got %q, want %q: %s", got, Unauthenticated, describe())
			}
		case !f.Found || f.WorkspaceID == "" || f.Role == "":
			if got != NotFound {
				t.Fatalf("got %q, want %q: %s", got, NotFound, describe())
			}
		case mayByPolicy(f, kind, right) != (err == nil):
			t.Fatalf("got %q, want allowed %v: %s", got, err != nil, describe())
		case err != nil && got != Forbidden && got != NotInProject && got != ACLDenied:
			t.Fatalf("got %q, want a reason that a member may know: %s", got, describe())
		case err == nil:
			allowed[fmt.Sprint(kind, right)]++
			if permit.Covers(kind, right) != nil || permit.Covers(kind, right+1) == nil || permit.Principal().WorkspaceID != "w" {
				t.Fatalf("the permit does not fit: %+v for %s", permit, describe())
			}
		}
	})
	if len(allowed) != len(kinds)*3 {
		t.Errorf("only these were ever allowed: %v", allowed)
	}
}

func TestPersonsAreToldWhyInsideTheirWorkspace(t *testing.T) {
	who := Principal{Credential: CredentialSession, UserID: "u"}
	base := Facts{UserID: "u", Found: true, WorkspaceID: "w", Role: RoleEditor}
	for name, c := range map[string]struct {
		change func(f *Facts)
		kind   Kind
		right  Right
		want   Code
	}{
		"a private project":         {func(f *Facts) { f.ProjectPrivate = true }, KindProject, RightView, NotInProject},
		"a note in it":              {func(f *Facts) { f.ProjectPrivate = true }, KindNote, RightView, NotInProject},
		"a note for listed people":  {func(f *Facts) { f.HasACL = true }, KindNote, RightView, ACLDenied},
		"listed to look":            {func(f *Facts) { f.HasACL, f.ACLRight = true, RightView }, KindNote, RightEdit, ACLDenied},
		"a viewer who edits":        {func(f *Facts) { f.Role = RoleViewer }, KindNote, RightEdit, Forbidden},
		"an editor who manages":     {func(*Facts) {}, KindNote, RightManage, Forbidden},
		"another's connection":      {func(*Facts) {}, KindConnection, RightManage, Forbidden},
		"people of the workspace":   {func(*Facts) {}, KindWorkspace, RightManage, Forbidden},
		"a role that is not known":  {func(f *Facts) { f.Role = "admin" }, KindNote, RightView, NotFound},
		"a kind of right too great": {func(f *Facts) { f.Role = RoleOwner }, KindNote, RightNone, Forbidden},
	} {
		f := base
		c.change(&f)
		if _, err := CheckPerson(f, who, Permission{Right: c.right}, Ref{Kind: c.kind, ID: "x"}); CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
