package storage

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

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
// access.Facts gives them. $1 is the token or the person, $2 the ID of the thing.

// columns is a part of a SELECT list, with the place in a row where each of its
// values goes.
type columns struct {
	list  string
	dests func(r *factsRow) []any
}

// factsRow takes the values of one statement.
type factsRow struct {
	facts access.Facts
	note  workspace.Note

	scopes, right, approver          string
	revoked, familyRevoked, disabled int64
	private, member, granted         int64
	localOnly, hasACL                int64
	archived, created, updated       int64
	projectOwner                     string
}

// The parts.
var (
	tokenColumns = columns{
		`t.expires_at, t.revoked_at, t.scopes, c.id, c.name, c.slug, c.status, c.family_revoked_at, c.workspace_id`,
		func(r *factsRow) []any {
			f := &r.facts
			return []any{&f.TokenExpires, &r.revoked, &r.scopes, &f.ConnectionID, &f.ConnectionName, &f.ConnectionSlug,
				&f.ConnectionStatus, &r.familyRevoked, &f.WorkspaceID}
		},
	}
	personColumns = columns{
		`u.id, u.name, u.email, u.disabled_at, COALESCE(m.role, '')`,
		func(r *factsRow) []any {
			f := &r.facts
			return []any{&f.UserID, &f.UserName, &f.UserEmail, &r.disabled, &f.Role}
		},
	}
	workspaceColumns = columns{
		`COALESCE(w.id, '')`,
		func(r *factsRow) []any { return []any{&r.facts.WorkspaceID} },
	}
	connectionColumns = columns{
		`COALESCE(c.workspace_id, ''), COALESCE(c.approver_id, '')`,
		func(r *factsRow) []any { return []any{&r.facts.WorkspaceID, &r.approver} },
	}
	projectColumns = columns{
		`COALESCE(p.id, ''), COALESCE(p.private, 0), COALESCE(p.owner_id, ''), CASE WHEN pm.user_id IS NULL THEN 0 ELSE 1 END`,
		func(r *factsRow) []any { return []any{&r.facts.ProjectID, &r.private, &r.projectOwner, &r.member} },
	}
	projectPlaceColumns = columns{
		`COALESCE(p.workspace_id, '')`,
		func(r *factsRow) []any { return []any{&r.facts.WorkspaceID} },
	}
	grantColumns = columns{
		`CASE WHEN cp.project_id IS NULL THEN 0 ELSE 1 END`,
		func(r *factsRow) []any { return []any{&r.granted} },
	}
	aclColumns = columns{
		`COALESCE(a.access, '')`,
		func(r *factsRow) []any { return []any{&r.right} },
	}
	noteColumns = columns{ // the whole row, for Facts.Loaded
		`COALESCE(n.id, ''), COALESCE(n.workspace_id, ''), COALESCE(n.project_id, ''), COALESCE(n.title, ''), COALESCE(n.version, 0),
		COALESCE(n.local_only, 0), COALESCE(n.has_acl, 0), COALESCE(n.archived_at, 0), COALESCE(n.created_at, 0),
		COALESCE(n.created_by, ''), COALESCE(n.updated_at, 0), COALESCE(n.updated_by, ''), COALESCE(n.updated_via, '')`,
		func(r *factsRow) []any {
			n := &r.note
			return []any{&n.ID, &n.WorkspaceID, &n.ProjectID, &n.Title, &n.Version, &r.localOnly, &r.hasACL, &r.archived,
				&r.created, &n.CreatedBy, &r.updated, &n.UpdatedBy, &n.UpdatedVia}
		},
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
	joinACL           = ` LEFT JOIN resource_acl a ON a.resource_id = n.id AND a.user_id = u.id`

	whereToken  = ` WHERE t.token_hash = $1`
	wherePerson = ` WHERE u.id = $1`
)

// question is one statement and where its values go.
type question struct {
	query string
	parts []columns
	thing bool // it takes the ID of a thing as $2
}

func ask(parts []columns, from, where string) question {
	lists := make([]string, len(parts))
	for i, part := range parts {
		lists[i] = part.list
	}
	return question{"SELECT " + strings.Join(lists, ", ") + from + where, parts, strings.Contains(from, "$2")}
}

// The questions about a connection. A thing of another workspace is not joined,
// so it looks like one that never was.
var (
	connectionQuestion = ask([]columns{tokenColumns, personColumns}, fromToken, whereToken)

	connectionQuestions = map[access.Kind]question{
		access.KindProject: ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns},
			fromToken+` LEFT JOIN projects p ON p.id = $2 AND p.workspace_id = c.workspace_id`+joinProjectMember+joinGrant,
			whereToken),
		access.KindNote: ask([]columns{tokenColumns, personColumns, projectColumns, grantColumns, noteColumns, aclColumns},
			fromToken+` LEFT JOIN notes n ON n.id = $2 AND n.workspace_id = c.workspace_id
			LEFT JOIN projects p ON p.id = n.project_id AND p.workspace_id = c.workspace_id`+joinProjectMember+joinGrant+joinACL,
			whereToken),
	}
)

// The questions about a person. The workspace is that of the thing.
var (
	personQuestion = ask([]columns{personColumns}, fromPerson+` LEFT JOIN memberships m ON 1 = 0`, wherePerson)

	personQuestions = map[access.Kind]question{
		access.KindWorkspace: ask([]columns{personColumns, workspaceColumns},
			fromPerson+` LEFT JOIN workspaces w ON w.id = $2
			LEFT JOIN memberships m ON m.workspace_id = w.id AND m.user_id = u.id`,
			wherePerson),
		access.KindConnection: ask([]columns{personColumns, connectionColumns},
			fromPerson+` LEFT JOIN connections c ON c.id = $2
			LEFT JOIN memberships m ON m.workspace_id = c.workspace_id AND m.user_id = u.id`,
			wherePerson),
		access.KindProject: ask([]columns{personColumns, projectColumns, projectPlaceColumns},
			fromPerson+` LEFT JOIN projects p ON p.id = $2
			LEFT JOIN memberships m ON m.workspace_id = p.workspace_id AND m.user_id = u.id`+joinProjectMember,
			wherePerson),
		access.KindNote: ask([]columns{personColumns, projectColumns, projectPlaceColumns, noteColumns, aclColumns},
			fromPerson+` LEFT JOIN notes n ON n.id = $2
			LEFT JOIN projects p ON p.id = n.project_id AND p.workspace_id = n.workspace_id
			LEFT JOIN memberships m ON m.workspace_id = p.workspace_id AND m.user_id = u.id`+joinProjectMember+joinACL,
			wherePerson),
	}
)

// ConnectionFacts reads the facts of a token and a thing; see access.Source. A
// kind that no connection can name is never found.
func (db *DB) ConnectionFacts(ctx context.Context, tx access.Tx, token access.TokenHash, ref access.Ref) (access.Facts, error) {
	q, about := connectionQuestions[ref.Kind]
	if !about {
		q = connectionQuestion
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
		r.thing(&f, ref.Kind)
	}
	return f, nil
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
	r.thing(&f, ref.Kind)
	return f, nil
}

// thing fills in what the row says about a thing that is there.
func (r *factsRow) thing(f *access.Facts, kind access.Kind) {
	f.Found = true
	switch kind {
	case access.KindConnection:
		f.OwnConnection = r.approver == f.UserID
	case access.KindProject:
		r.project(f)
	case access.KindNote:
		r.project(f)
		f.LocalOnly, f.HasACL = r.localOnly != 0, r.hasACL != 0
		f.ACLRight = access.ParseRight(r.right)
		n := r.note
		n.LocalOnly, n.HasACL = f.LocalOnly, f.HasACL
		n.ArchivedAt, n.CreatedAt, n.UpdatedAt = timeOf(r.archived), timeOf(r.created), timeOf(r.updated)
		f.Loaded = n
	}
}

func (r *factsRow) project(f *access.Facts) {
	f.ProjectPrivate, f.ProjectMember, f.ProjectGranted = r.private != 0, r.member != 0, r.granted != 0
	f.ProjectOwner = r.projectOwner == f.UserID
}

// read asks the question; ok is false if nobody has the token or the ID.
func (q question) read(ctx context.Context, tx access.Tx, who, thing string) (r factsRow, ok bool, err error) {
	dests := make([]any, 0, 40)
	for _, part := range q.parts {
		dests = append(dests, part.dests(&r)...)
	}
	args := []any{who, thing}
	if !q.thing {
		args = args[:1]
	}
	c, _ := raw(tx)
	err = c.QueryRowContext(ctx, q.query, args...).Scan(dests...)
	if errors.Is(err, sql.ErrNoRows) {
		return factsRow{}, false, nil
	}
	r.facts.UserDisabled = r.disabled != 0
	return r, err == nil, err
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
