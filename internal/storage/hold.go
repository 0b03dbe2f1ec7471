package storage

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// A write of a person and a change of their rights meet on rows (ADR 7), which
// both take in one order, so that they wait for each other and not in a circle:
//
//	workspace → membership → connections → note or session → project → handoff → task → round
//
// Who manages people or projects holds the workspace, so such changes come one
// after the other. Every write shares its membership and its project with other
// writes; only changes of them are kept out.
const (
	holdWorkspace = `SELECT w.id FROM workspaces w JOIN memberships m ON m.workspace_id = w.id
		WHERE w.id = $1 AND m.user_id = $2 FOR NO KEY UPDATE OF w`
	holdWorkspaceOfProject = `SELECT w.id FROM workspaces w JOIN memberships m ON m.workspace_id = w.id
		JOIN projects p ON p.workspace_id = w.id
		WHERE p.id = $1 AND m.user_id = $2 FOR NO KEY UPDATE OF w`
	shareMembership             = `SELECT m.role FROM memberships m WHERE m.workspace_id = $1 AND m.user_id = $2 FOR SHARE OF m`
	shareMembershipOfProject    = `SELECT m.role FROM memberships m JOIN projects x ON x.workspace_id = m.workspace_id WHERE x.id = $1 AND m.user_id = $2 FOR SHARE OF m`
	shareMembershipOfNote       = `SELECT m.role FROM memberships m JOIN notes x ON x.workspace_id = m.workspace_id WHERE x.id = $1 AND m.user_id = $2 FOR SHARE OF m`
	shareMembershipOfConnection = `SELECT m.role FROM memberships m JOIN connections x ON x.workspace_id = m.workspace_id WHERE x.id = $1 AND m.user_id = $2 FOR SHARE OF m`
	holdNote                    = `SELECT x.id FROM notes x JOIN memberships m ON m.workspace_id = x.workspace_id WHERE x.id = $1 AND m.user_id = $2 FOR NO KEY UPDATE OF x`
	shareProject                = `SELECT x.id FROM projects x JOIN memberships m ON m.workspace_id = x.workspace_id WHERE x.id = $1 AND m.user_id = $2 FOR SHARE OF x`
	// The note is held by now, so this is its project to the end.
	shareProjectOfNote = `SELECT x.id FROM projects x JOIN notes n ON n.project_id = x.id JOIN memberships m ON m.workspace_id = x.workspace_id
		WHERE n.id = $1 AND m.user_id = $2 FOR SHARE OF x`
)

// sessionHolds hold the session that a statement finds by $1, as a note is held.
// Handoffs, tasks and rounds come after everything, because each belongs to one
// session, which is held by then.
func sessionHolds(find string) []string {
	return []string{
		`SELECT m.role FROM memberships m JOIN sessions x ON x.workspace_id = m.workspace_id WHERE x.id = (` + find + `) AND m.user_id = $2 FOR SHARE OF m`,
		`SELECT x.id FROM sessions x JOIN memberships m ON m.workspace_id = x.workspace_id WHERE x.id = (` + find + `) AND m.user_id = $2 FOR NO KEY UPDATE OF x`,
		`SELECT p.id FROM projects p JOIN sessions x ON x.project_id = p.id JOIN memberships m ON m.workspace_id = p.workspace_id
			WHERE x.id = (` + find + `) AND m.user_id = $2 FOR SHARE OF p`,
	}
}

var (
	holdsOfSession = sessionHolds(`CAST($1 AS TEXT)`)
	holdsOfHandoff = sessionHolds(`SELECT h.session_id FROM handoffs h WHERE h.id = $1`)
	holdsOfTask    = sessionHolds(`SELECT k.session_id FROM tasks k WHERE k.id = $1`)
)

// personHolds are the statements for a thing of a kind. $1 is its ID, $2 the
// person.
func personHolds(kind access.Kind, right access.Right) []string {
	manages := right == access.RightManage
	switch {
	case kind == access.KindWorkspace && manages:
		return []string{holdWorkspace, shareMembership}
	case kind == access.KindWorkspace:
		return []string{shareMembership}
	case kind == access.KindProject && manages:
		return []string{holdWorkspaceOfProject, shareMembershipOfProject}
	case kind == access.KindProject:
		return []string{shareMembershipOfProject, shareProject}
	case kind == access.KindConnection:
		return []string{shareMembershipOfConnection}
	case kind == access.KindNote:
		return []string{shareMembershipOfNote, holdNote, shareProjectOfNote}
	case kind == access.KindSession:
		return holdsOfSession
	case kind == access.KindHandoff:
		return holdsOfHandoff
	case kind == access.KindTask:
		return holdsOfTask
	}
	return nil
}

// HoldPerson is access.Source.HoldPerson. SQLite's one writer holds everything.
func (db *DB) HoldPerson(ctx context.Context, tx access.Tx, userID string, ref access.Ref, right access.Right) error {
	c, dialect := raw(tx)
	if dialect == sqlite {
		return nil
	}
	for _, hold := range personHolds(ref.Kind, right) {
		if _, err := c.ExecContext(ctx, hold, ref.ID, userID); err != nil {
			return err
		}
	}
	return nil
}
