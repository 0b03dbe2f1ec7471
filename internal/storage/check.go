package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// The check is one statement for each kind of thing, put together here from parts
// that are written once: who asks (a token with its connection and approver, or a
// person), what the thing is, and what stands between the two. Every join is a
// probe of a primary key, so the cost does not grow with the data, and the
// statement is prepared once for each connection of the pool.
//
// Columns that a LEFT JOIN can leave empty are COALESCEd to the zero that
// access.Facts gives them. $1 is the token or the person, $2 the ID of the thing;
// the casts keep SQLite from planning the statement anew for each value once
// somebody has run ANALYZE, which costs five times the statement.
//
// A driver asks the name, type and value of each column of each row, which costs
// more than the joins do. So all comes as one column: IDs, words of ours and
// numbers, then free text, which could hold a separator, with its number of
// characters before it.

// columns is a part of what is asked, with the place in a row where each of its
// values goes: *string, *access.Role or *int64 for those of fixed, *string for those
// of text.
type columns struct {
	fixed      []string
	fixedDests func(r *factsRow) []any
	text       []string
	textDests  func(r *factsRow) []any
}

// separator stands between any two values, and between a text and its length.
const separator = "|"

// factsRow takes the values of one statement.
type factsRow struct {
	facts access.Facts
	note  workspace.Note

	author     workspace.Author // of the note's last change
	tab        workspace.NoteTab
	tabUpdated int64
	tabs       []workspace.NoteTab // one of each row

	scopes, right, approver          string
	revoked, familyRevoked, disabled int64
	private, member, granted         int64
	localOnly, hasACL                int64
	archived, created, updated       int64
	projectArchived                  int64
	projectOwner                     string

	session                workspace.Session
	sessionMade, sessionUp int64
	sessionGone            int64
	sessionOwner           string
	seat                   string
	agents, done           string
	handoffID, taskID      string
}

// The parts.
var (
	tokenColumns = columns{
		fixed: []string{`t.expires_at`, `t.revoked_at`, `t.scopes`, `c.id`, `c.status`, `c.family_revoked_at`, `c.workspace_id`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.facts.TokenExpires, &r.revoked, &r.scopes, &r.facts.ConnectionID, &r.facts.ConnectionStatus, &r.familyRevoked, &r.facts.WorkspaceID}
		},
		text: []string{`c.name`, `c.slug`},
		textDests: func(r *factsRow) []any {
			return []any{&r.facts.ConnectionName, &r.facts.ConnectionSlug}
		},
	}
	personColumns = columns{
		fixed: []string{`u.id`, `u.disabled_at`, `COALESCE(m.role, '')`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.facts.UserID, &r.disabled, &r.facts.Role}
		},
		text: []string{`u.name`, `u.email`},
		textDests: func(r *factsRow) []any {
			return []any{&r.facts.UserName, &r.facts.UserEmail}
		},
	}
	workspaceColumns = columns{
		fixed: []string{`COALESCE(w.id, '')`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.facts.WorkspaceID}
		},
	}
	connectionColumns = columns{
		fixed: []string{`COALESCE(c.workspace_id, '')`, `COALESCE(c.approver_id, '')`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.facts.WorkspaceID, &r.approver}
		},
	}
	projectColumns = columns{
		fixed: []string{`COALESCE(p.id, '')`, `COALESCE(p.private, 0)`, `COALESCE(p.archived_at, 0)`, `COALESCE(p.owner_id, '')`,
			`CASE WHEN pm.user_id IS NULL THEN 0 ELSE 1 END`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.facts.ProjectID, &r.private, &r.projectArchived, &r.projectOwner, &r.member}
		},
	}
	projectPlaceColumns = columns{
		fixed: []string{`COALESCE(p.workspace_id, '')`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.facts.WorkspaceID}
		},
	}
	grantColumns = columns{
		fixed: []string{`CASE WHEN cp.project_id IS NULL THEN 0 ELSE 1 END`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.granted}
		},
	}
	aclColumns = columns{
		fixed: []string{`COALESCE(a.access, '')`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.right}
		},
	}
	// noteColumns are the whole row, for Facts.Loaded.
	noteColumns = columns{
		fixed: []string{`COALESCE(n.id, '')`, `COALESCE(n.workspace_id, '')`, `COALESCE(n.project_id, '')`, `COALESCE(n.version, 0)`,
			`COALESCE(n.local_only, 0)`, `COALESCE(n.has_acl, 0)`, `COALESCE(n.archived_at, 0)`, `COALESCE(n.created_at, 0)`, `COALESCE(n.created_by, '')`,
			`COALESCE(n.updated_at, 0)`, `COALESCE(n.updated_by, '')`, `COALESCE(n.updated_via, '')`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.note.ID, &r.note.WorkspaceID, &r.note.ProjectID, &r.note.Version, &r.localOnly, &r.hasACL, &r.archived,
				&r.created, &r.note.CreatedBy, &r.updated, &r.note.UpdatedBy, &r.note.UpdatedVia}
		},
		text: []string{`COALESCE(n.title, '')`},
		textDests: func(r *factsRow) []any {
			return []any{&r.note.Title}
		},
	}
	// outlineColumns are the note's tabs, one in each row, and who changed what.
	outlineColumns = columns{
		fixed: []string{`COALESCE(b.id, '')`, `COALESCE(b.version, 0)`, `COALESCE(b.chars, 0)`, `COALESCE(b.updated_at, 0)`, `COALESCE(b.updated_by, '')`,
			`COALESCE(b.updated_via, '')`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.tab.ID, &r.tab.Version, &r.tab.Chars, &r.tabUpdated, &r.tab.UpdatedBy.UserID, &r.tab.UpdatedBy.ConnectionID}
		},
		text: []string{`COALESCE(b.title, '')`, `COALESCE(bu.name, '')`, `COALESCE(bc.name, '')`, `COALESCE(nu.name, '')`, `COALESCE(nc.name, '')`},
		textDests: func(r *factsRow) []any {
			return []any{&r.tab.Title, &r.tab.UpdatedBy.UserName, &r.tab.UpdatedBy.ConnectionName, &r.author.UserName, &r.author.ConnectionName}
		},
	}
	// sessionColumns are the whole row, for Facts.Loaded.
	sessionColumns = columns{
		fixed: []string{`COALESCE(s.id, '')`, `COALESCE(s.workspace_id, '')`, `COALESCE(s.project_id, '')`, `COALESCE(s.type, '')`, `COALESCE(s.owner_id, '')`,
			`COALESCE(s.version, 0)`, `COALESCE(s.max_rounds, 0)`, `COALESCE(s.day_rounds, 0)`, `COALESCE(s.day_tokens, 0)`, `COALESCE(s.day_minutes, 0)`,
			`COALESCE(s.local_only, 0)`, `COALESCE(s.has_acl, 0)`, `COALESCE(s.archived_at, 0)`, `COALESCE(s.created_at, 0)`, `COALESCE(s.created_by, '')`,
			`COALESCE(s.updated_at, 0)`, `COALESCE(s.updated_by, '')`},
		fixedDests: func(r *factsRow) []any {
			x := &r.session
			return []any{&x.ID, &x.WorkspaceID, &x.ProjectID, &x.Type, &r.sessionOwner, &x.Version, &x.MaxRounds, &x.Budget.Rounds, &x.Budget.Tokens,
				&x.Budget.Minutes, &r.localOnly, &r.hasACL, &r.sessionGone, &r.sessionMade, &x.CreatedBy, &r.sessionUp, &x.UpdatedBy}
		},
		text:      []string{`COALESCE(s.title, '')`, `COALESCE(s.agents, '[]')`, `COALESCE(s.done, '{}')`},
		textDests: func(r *factsRow) []any { return []any{&r.session.Title, &r.agents, &r.done} },
	}
	seatColumns = columns{
		fixed:      []string{`COALESCE(e.seat, '')`},
		fixedDests: func(r *factsRow) []any { return []any{&r.seat} },
	}
	handoffColumns = columns{
		fixed:      []string{`COALESCE(h.id, '')`, `COALESCE(h.connection_id, '')`},
		fixedDests: func(r *factsRow) []any { return []any{&r.handoffID, &r.facts.MadeBy} },
	}
	taskColumns = columns{
		fixed:      []string{`COALESCE(k.id, '')`, `COALESCE(k.connection_id, '')`},
		fixedDests: func(r *factsRow) []any { return []any{&r.taskID, &r.facts.MadeBy} },
	}
)

const (
	fromToken = ` FROM access_tokens t
		JOIN connections c ON c.id = t.connection_id
		JOIN users u ON u.id = c.approver_id
		LEFT JOIN memberships m ON m.workspace_id = c.workspace_id AND m.user_id = u.id`
	fromPerson = ` FROM users u`

	joinProjectMember = ` LEFT JOIN project_members pm ON pm.project_id = p.id AND pm.user_id = u.id`
	joinGrant         = ` LEFT JOIN connection_projects cp ON cp.connection_id = c.id AND cp.project_id = p.id`
	joinNote          = ` LEFT JOIN notes n ON n.id = CAST($2 AS TEXT) AND n.workspace_id = c.workspace_id
		LEFT JOIN projects p ON p.id = n.project_id AND p.workspace_id = c.workspace_id`
	joinACL     = ` LEFT JOIN resource_acl a ON a.resource_id = n.id AND a.user_id = u.id`
	joinOutline = ` LEFT JOIN users nu ON nu.id = n.updated_by LEFT JOIN connections nc ON nc.id = n.updated_via
		LEFT JOIN note_tabs b ON b.note_id = n.id LEFT JOIN users bu ON bu.id = b.updated_by LEFT JOIN connections bc ON bc.id = b.updated_via`
	orderOutline   = ` ORDER BY b.position`
	joinSessionACL = ` LEFT JOIN resource_acl a ON a.resource_id = s.id AND a.user_id = u.id`
	joinSeat       = ` LEFT JOIN session_seats e ON e.session_id = s.id AND e.connection_id = c.id`

	// A session of the connection's workspace, and of any.
	joinSession        = ` LEFT JOIN sessions s ON s.id = CAST($2 AS TEXT) AND s.workspace_id = c.workspace_id`
	joinHandoff        = ` LEFT JOIN handoffs h ON h.id = CAST($2 AS TEXT) AND h.workspace_id = c.workspace_id LEFT JOIN sessions s ON s.id = h.session_id AND s.workspace_id = c.workspace_id`
	joinTask           = ` LEFT JOIN tasks k ON k.id = CAST($2 AS TEXT) AND k.workspace_id = c.workspace_id LEFT JOIN sessions s ON s.id = k.session_id AND s.workspace_id = c.workspace_id`
	joinSessionProject = ` LEFT JOIN projects p ON p.id = s.project_id AND p.workspace_id = s.workspace_id`
	joinAnySession     = ` LEFT JOIN sessions s ON s.id = CAST($2 AS TEXT)`
	joinAnyHandoff     = ` LEFT JOIN handoffs h ON h.id = CAST($2 AS TEXT) LEFT JOIN sessions s ON s.id = h.session_id`
	joinAnyTask        = ` LEFT JOIN tasks k ON k.id = CAST($2 AS TEXT) LEFT JOIN sessions s ON s.id = k.session_id`
	joinProjectRole    = ` LEFT JOIN memberships m ON m.workspace_id = p.workspace_id AND m.user_id = u.id`

	whereToken  = ` WHERE t.token_hash = CAST($1 AS TEXT)`
	wherePerson = ` WHERE u.id = CAST($1 AS TEXT)`
)

// question is one statement and where its values go.
type question struct {
	query string
	parts []columns
	thing bool // it takes the ID of a thing as $2
}

func ask(parts []columns, from, where string) question {
	var fixed, text []string
	for _, part := range parts {
		fixed = append(fixed, part.fixed...)
		for _, column := range part.text {
			text = append(text, `length(`+column+`)`, column)
		}
	}
	list := `concat_ws('` + separator + `', ` + strings.Join(append(fixed, text...), ", ") + `)`
	return question{"SELECT " + list + from + where, parts, strings.Contains(from, "$2")}
}

// The questions about a connection. A thing of another workspace is not joined,
// so it looks like one that never was.
var (
	connectionQuestion = ask([]columns{tokenColumns, personColumns}, fromToken, whereToken)

	connectionQuestions = map[access.Kind]question{
		access.KindProject: ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns},
			fromToken+` LEFT JOIN projects p ON p.id = CAST($2 AS TEXT) AND p.workspace_id = c.workspace_id`+joinProjectMember+joinGrant,
			whereToken),
		access.KindNote: ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns, noteColumns, aclColumns},
			fromToken+joinNote+joinProjectMember+joinGrant+joinACL, whereToken),
		access.KindSession: ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns, sessionColumns, aclColumns, seatColumns},
			fromToken+joinSession+joinSessionProject+joinProjectMember+joinGrant+joinSessionACL+joinSeat, whereToken),
		access.KindHandoff: ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns, sessionColumns, aclColumns, seatColumns, handoffColumns},
			fromToken+joinHandoff+joinSessionProject+joinProjectMember+joinGrant+joinSessionACL+joinSeat, whereToken),
		access.KindTask: ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns, sessionColumns, aclColumns, seatColumns, taskColumns},
			fromToken+joinTask+joinSessionProject+joinProjectMember+joinGrant+joinSessionACL+joinSeat, whereToken),
	}
)

// outlineQuestion is that about a connection and a note, with the note's tabs.
var outlineQuestion = ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns, noteColumns, aclColumns, outlineColumns},
	fromToken+joinNote+joinProjectMember+joinGrant+joinACL+joinOutline, whereToken+orderOutline)

// The questions about a person. The workspace is that of the thing.
var (
	personQuestion = ask([]columns{personColumns}, fromPerson+` LEFT JOIN memberships m ON 1 = 0`, wherePerson)

	personQuestions = map[access.Kind]question{
		access.KindWorkspace: ask([]columns{personColumns, workspaceColumns},
			fromPerson+` LEFT JOIN workspaces w ON w.id = CAST($2 AS TEXT)
			LEFT JOIN memberships m ON m.workspace_id = w.id AND m.user_id = u.id`,
			wherePerson),
		access.KindConnection: ask([]columns{personColumns, connectionColumns},
			fromPerson+` LEFT JOIN connections c ON c.id = CAST($2 AS TEXT)
			LEFT JOIN memberships m ON m.workspace_id = c.workspace_id AND m.user_id = u.id`,
			wherePerson),
		access.KindProject: ask([]columns{personColumns, projectColumns, projectPlaceColumns},
			fromPerson+` LEFT JOIN projects p ON p.id = CAST($2 AS TEXT)
			LEFT JOIN memberships m ON m.workspace_id = p.workspace_id AND m.user_id = u.id`+joinProjectMember,
			wherePerson),
		access.KindNote: ask([]columns{personColumns, projectColumns, projectPlaceColumns, noteColumns, aclColumns},
			fromPerson+` LEFT JOIN notes n ON n.id = CAST($2 AS TEXT)
			LEFT JOIN projects p ON p.id = n.project_id AND p.workspace_id = n.workspace_id
			LEFT JOIN memberships m ON m.workspace_id = p.workspace_id AND m.user_id = u.id`+joinProjectMember+joinACL,
			wherePerson),
		access.KindSession: ask([]columns{personColumns, projectColumns, projectPlaceColumns, sessionColumns, aclColumns},
			fromPerson+joinAnySession+joinSessionProject+joinProjectRole+joinProjectMember+joinSessionACL, wherePerson),
		access.KindHandoff: ask([]columns{personColumns, projectColumns, projectPlaceColumns, sessionColumns, aclColumns, handoffColumns},
			fromPerson+joinAnyHandoff+joinSessionProject+joinProjectRole+joinProjectMember+joinSessionACL, wherePerson),
		access.KindTask: ask([]columns{personColumns, projectColumns, projectPlaceColumns, sessionColumns, aclColumns, taskColumns},
			fromPerson+joinAnyTask+joinSessionProject+joinProjectRole+joinProjectMember+joinSessionACL, wherePerson),
	}
)

// ConnectionFacts reads the facts of a token and a thing; see access.Source. A
// kind that no connection can name is never found.
func (db *DB) ConnectionFacts(ctx context.Context, tx access.Tx, token access.TokenHash, ref access.Ref) (access.Facts, error) {
	q, about := connectionQuestions[ref.Kind]
	switch {
	case !about:
		q = connectionQuestion
	case ref.Along == access.AlongOutline:
		q = outlineQuestion
	}
	r, ok, err := q.read(ctx, tx, string(token), ref.ID)
	if err != nil || !ok {
		return access.Facts{}, err
	}
	f := r.facts
	f.TokenKnown = true
	f.TokenRevoked = r.revoked != 0 || r.familyRevoked != 0
	f.Scopes, _ = access.ParseScopes(r.scopes)
	if about && f.ProjectID != "" {
		err = r.thing(&f, ref.Kind)
	}
	return f, err
}

// PersonFacts reads the facts of a person and a thing; see access.Source. What
// lies in a workspace that the person is not in is not found.
func (db *DB) PersonFacts(ctx context.Context, tx access.Tx, userID string, ref access.Ref) (access.Facts, error) {
	q, about := personQuestions[ref.Kind]
	if !about {
		q = personQuestion
	}
	r, ok, err := q.read(ctx, tx, userID, ref.ID)
	if err != nil || !ok {
		return access.Facts{}, err
	}
	f := r.facts
	if f.WorkspaceID == "" || f.Role == "" {
		return access.Facts{UserID: f.UserID, UserName: f.UserName, UserEmail: f.UserEmail, UserDisabled: f.UserDisabled}, nil
	}
	return f, r.thing(&f, ref.Kind)
}

// thing fills in what the row says about a thing that is there.
func (r *factsRow) thing(f *access.Facts, kind access.Kind) error {
	f.Found = true
	switch kind {
	case access.KindConnection:
		f.OwnConnection = r.approver == f.UserID
	case access.KindProject:
		r.project(f)
		f.Loaded = workspace.ProjectState{Archived: r.projectArchived != 0}
	case access.KindNote:
		r.project(f)
		f.LocalOnly, f.HasACL = r.localOnly != 0, r.hasACL != 0
		f.ACLRight = access.ParseRight(r.right)
		n := r.note
		n.LocalOnly, n.HasACL = f.LocalOnly, f.HasACL
		n.ArchivedAt, n.CreatedAt, n.UpdatedAt = timeOf(r.archived), timeOf(r.created), timeOf(r.updated)
		f.Loaded = n
		if len(r.tabs) > 0 {
			r.author.UserID, r.author.ConnectionID = n.UpdatedBy, n.UpdatedVia
			f.Loaded = workspace.NoteOutline{Note: n, Author: r.author, Tabs: r.tabs}
		}
	case access.KindSession, access.KindHandoff, access.KindTask:
		return r.inSession(f)
	}
	return nil
}

// inSession fills in what the row says about a session, or a thing of one.
func (r *factsRow) inSession(f *access.Facts) error {
	r.project(f)
	f.LocalOnly, f.HasACL = r.localOnly != 0, r.hasACL != 0
	f.ACLRight, f.Seat = access.ParseRight(r.right), access.ParseSeat(r.seat)
	x := r.session
	f.SessionID, f.SessionType, f.SessionOwner = x.ID, string(x.Type), r.sessionOwner == f.UserID
	x.OwnerID, x.LocalOnly, x.HasACL = r.sessionOwner, f.LocalOnly, f.HasACL
	x.ArchivedAt, x.CreatedAt, x.UpdatedAt = timeOf(r.sessionGone), timeOf(r.sessionMade), timeOf(r.sessionUp)
	if err := readSessionSetup(r.agents, r.done, &x); err != nil {
		return err
	}
	f.Loaded = x
	return nil
}

func (r *factsRow) project(f *access.Facts) {
	f.ProjectPrivate, f.ProjectMember, f.ProjectGranted = r.private != 0, r.member != 0, r.granted != 0
	f.ProjectOwner = r.projectOwner == f.UserID
}

// read asks the question; ok is false if nobody has the token or the ID. All rows
// are about the same thing: they differ in the tab.
func (q question) read(ctx context.Context, tx access.Tx, who, thing string) (r factsRow, ok bool, err error) {
	args := []any{who, thing}
	if !q.thing {
		args = args[:1]
	}
	c, _ := raw(tx)
	rows, err := c.QueryContext(ctx, q.query, args...)
	if err != nil {
		return factsRow{}, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var packed string
		if err := rows.Scan(&packed); err != nil {
			return factsRow{}, false, err
		}
		if err := q.unpack(packed, &r); err != nil {
			return factsRow{}, false, err
		}
		if r.tab.ID != "" {
			r.tab.UpdatedAt = timeOf(r.tabUpdated)
			r.tabs = append(r.tabs, r.tab)
		}
		ok = true
	}
	r.facts.UserDisabled = r.disabled != 0
	return r, ok, rows.Err()
}

// unpack puts the values where they go. A value too many or too few is an error,
// and so a denial.
func (q question) unpack(packed string, r *factsRow) error {
	rest := packed + separator
	for _, part := range q.parts {
		for _, dest := range part.fixedDests(r) {
			value, behind, found := strings.Cut(rest, separator)
			if !found {
				return errors.New("facts lack a value")
			}
			rest = behind
			if err := put(dest, value); err != nil {
				return err
			}
		}
	}
	for _, part := range q.parts {
		if part.textDests == nil {
			continue
		}
		for _, dest := range part.textDests(r) {
			text, behind, err := cutText(rest)
			if err != nil {
				return err
			}
			*dest.(*string), rest = text, behind
		}
	}
	if rest != "" {
		return errors.New("facts have a value too many")
	}
	return nil
}

// cutText takes the text at the beginning of s, which its length stands before.
func cutText(s string) (text, behind string, err error) {
	number, rest, found := strings.Cut(s, separator)
	chars, err := strconv.Atoi(number)
	if !found || err != nil || chars < 0 {
		return "", "", errors.New("facts lack a text")
	}
	end := 0
	for range chars {
		if end == len(rest) {
			return "", "", errors.New("a text of the facts is too short")
		}
		_, size := utf8.DecodeRuneInString(rest[end:])
		end += size
	}
	text = rest[:end]
	if behind, found = strings.CutPrefix(rest[end:], separator); !found {
		return "", "", errors.New("a text of the facts is too long")
	}
	return text, behind, nil
}

func put(dest any, value string) (err error) {
	switch d := dest.(type) {
	case *string:
		*d = value
	case *access.Role:
		*d = access.Role(value)
	case *int64:
		*d, err = strconv.ParseInt(value, 10, 64)
	case *workspace.SessionType:
		*d = workspace.SessionType(value)
	default:
		err = fmt.Errorf("facts can't be put into a %T", dest)
	}
	return err
}

// Touch stamps the connection as used and, on PostgreSQL, holds its row and that
// of the thing until tx ends: whoever takes rights away updates one of the two, so
// either that comes first and the check sees it, or it waits for this write.
func (db *DB) Touch(ctx context.Context, tx access.Tx, token access.TokenHash, ref access.Ref, now time.Time) error {
	const touchConnection = `UPDATE connections SET last_used_at = $2
		WHERE id = (SELECT connection_id FROM access_tokens WHERE token_hash = $1)`
	c, dialect := raw(tx)
	if _, err := c.ExecContext(ctx, touchConnection, string(token), now.UnixMilli()); err != nil {
		return err
	}
	hold := holds[ref.Kind]
	if dialect == sqlite || hold == "" { // SQLite's one writer holds everything
		return nil
	}
	_, err := c.ExecContext(ctx, hold, ref.ID, string(token))
	return err
}

// holds are the statements that keep a thing as it is, by kind.
var holds = map[access.Kind]string{
	access.KindProject: holdIn("projects"),
	access.KindNote:    holdIn("notes"),
	access.KindSession: holdIn("sessions"),
	access.KindHandoff: holdOf("handoffs"),
	access.KindTask:    holdOf("tasks"),
}

// holdOf holds the session that a handoff or task is of: whoever gives or takes
// seats updates its row.
func holdOf(table string) string {
	return `SELECT s.id FROM sessions s
		JOIN ` + table + ` x ON x.session_id = s.id
		JOIN connections c ON c.workspace_id = s.workspace_id
		JOIN access_tokens t ON t.connection_id = c.id
		WHERE x.id = $1 AND t.token_hash = $2 FOR NO KEY UPDATE OF s`
}

func holdIn(table string) string {
	return `SELECT x.id FROM ` + table + ` x
		JOIN connections c ON c.workspace_id = x.workspace_id
		JOIN access_tokens t ON t.connection_id = c.id
		WHERE x.id = $1 AND t.token_hash = $2 FOR NO KEY UPDATE OF x`
}

// timeOf reads a stored time; 0 is the zero time.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// msOf is how a time is stored.
func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
