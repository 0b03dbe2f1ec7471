package storage

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Search is the full-text index of notes: FTS5 in SQLite, a tsvector in
// PostgreSQL, both fed with the words of workspace.Words. It implements
// workspace.SearchIndex.
type Search struct{}

// document is one row of the index: a tab, or the note itself where tabID is "".
type document struct {
	noteID, tabID        string
	place                []string // where it lies, as placeWords
	title, heading, body string
}

// placeWord marks where a document lies, so that a search reads only documents of
// its own workspace and projects: neither its cost nor its order tells of others.
// The index is not trusted with access; FindNotes judges the note's own row.
func placeWord(id string) string { return "at" + strings.ReplaceAll(id, "-", "") }

// IndexNote is workspace.SearchIndex.IndexNote.
func (Search) IndexNote(ctx context.Context, tx access.Tx, workspaceID, noteID string) error {
	return reindex(ctx, tx, workspaceID, noteID, "")
}

// IndexTab is workspace.SearchIndex.IndexTab.
func (Search) IndexTab(ctx context.Context, tx access.Tx, workspaceID, noteID, tabID string) error {
	return reindex(ctx, tx, workspaceID, noteID, tabID)
}

// reindex writes the documents of a note, or of one tab of it, as they are now.
func reindex(ctx context.Context, tx access.Tx, workspaceID, noteID, tabID string) error {
	docs, err := readDocuments(ctx, tx, workspaceID, noteID, tabID)
	if err != nil {
		return fmt.Errorf("read note to index: %w", err)
	}
	db, dialect := raw(tx)
	remove, write := removeFromFTS, writeToFTS
	if dialect == postgres {
		remove, write = removeFromTSVector, writeToTSVector
	}
	if err := remove(ctx, db, noteID, tabID); err != nil {
		return fmt.Errorf("remove note from index: %w", err)
	}
	for _, d := range docs {
		if err := write(ctx, db, d); err != nil {
			return fmt.Errorf("index note: %w", err)
		}
	}
	return nil
}

func readDocuments(ctx context.Context, tx access.Tx, workspaceID, noteID, tabID string) ([]document, error) {
	var s statement
	s.add(`SELECT n.project_id, n.title, COALESCE(t.id, ''), COALESCE(t.title, ''), COALESCE(t.markdown, '')
		FROM notes n LEFT JOIN note_tabs t ON t.note_id = n.id WHERE n.workspace_id = ? AND n.id = ? AND n.archived_at = 0`, workspaceID, noteID)
	if tabID != "" {
		s.add(` AND t.id = ?`, tabID)
	}
	db, _ := raw(tx)
	rows, err := db.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var docs []document
	for rows.Next() {
		d := document{noteID: noteID}
		var project string
		if err := rows.Scan(&project, &d.title, &d.tabID, &d.heading, &d.body); err != nil {
			return nil, err
		}
		d.place = []string{placeWord(workspaceID), placeWord(project)}
		if tabID == "" && len(docs) == 0 { // the note itself: a title finds it whole
			docs = append(docs, document{noteID: noteID, place: d.place, title: d.title})
		}
		if d.tabID != "" {
			docs = append(docs, d)
		}
	}
	return docs, rows.Err()
}

// indexedBytes is how much of a tab is indexed, in bytes of its words: far more
// than a tab that a connection can write, and well under the 1 MB of a tsvector.
const indexedBytes = 400_000

// eachWord calls f for the words of a text until indexedBytes are reached.
func eachWord(text string, f func(word string)) {
	left := indexedBytes
	for word := range workspace.Words(text) {
		if left -= len(word) + 2; left < 0 {
			return
		}
		f(word)
	}
}

func removeFromFTS(ctx context.Context, db gen.DBTX, noteID, tabID string) error {
	where, args := ` WHERE note_id = $1`, []any{noteID}
	if tabID != "" {
		where, args = where+` AND tab_id = $2`, append(args, tabID)
	}
	_, err := db.ExecContext(ctx, `DELETE FROM search_words WHERE rowid IN (SELECT document FROM search_documents`+where+`)`, args...)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `DELETE FROM search_documents`+where, args...)
	return err
}

func writeToFTS(ctx context.Context, db gen.DBTX, d document) error {
	res, err := db.ExecContext(ctx, `INSERT INTO search_documents (note_id, tab_id) VALUES ($1, $2)`, d.noteID, d.tabID)
	if err != nil {
		return err
	}
	row, err := res.LastInsertId()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO search_words (rowid, place, title, heading, body) VALUES ($1, $2, $3, $4, $5)`,
		row, strings.Join(d.place, " "), spacedWords(d.title), spacedWords(d.heading), spacedWords(d.body))
	return err
}

func spacedWords(text string) string {
	var b strings.Builder
	eachWord(text, func(word string) {
		b.WriteString(word)
		b.WriteByte(' ')
	})
	return b.String()
}

func removeFromTSVector(ctx context.Context, db gen.DBTX, noteID, tabID string) error {
	where, args := ` WHERE note_id = $1`, []any{noteID}
	if tabID != "" {
		where, args = where+` AND tab_id = $2`, append(args, tabID)
	}
	_, err := db.ExecContext(ctx, `DELETE FROM search_documents`+where, args...)
	return err
}

func writeToTSVector(ctx context.Context, db gen.DBTX, d document) error {
	_, err := db.ExecContext(ctx, `INSERT INTO search_documents (note_id, tab_id, words) VALUES ($1, $2, $3::text::tsvector)
		ON CONFLICT (note_id, tab_id) DO UPDATE SET words = excluded.words`, d.noteID, d.tabID, tsvector(d))
	return err
}

// tsvector is the text form of a document's words and their places. Words hold
// letters, digits and marks only, so quoting them is safe.
func tsvector(d document) string {
	const mostPlaces, lastPlace = 255, 1<<14 - 1 // of PostgreSQL, "Text Search Limitations"
	places := map[string][]string{}
	at := 0
	for _, part := range []struct{ text, weight string }{{d.title, "A"}, {d.heading, "B"}, {d.body, ""}} {
		eachWord(part.text, func(word string) {
			at++
			if len(places[word]) < mostPlaces {
				places[word] = append(places[word], strconv.Itoa(min(at, lastPlace))+part.weight)
			}
		})
		at++ // no phrase goes on in the next part
	}
	var b strings.Builder
	for _, word := range d.place {
		b.WriteString("'@" + word + "' ") // no word has an @
	}
	for word, at := range places {
		b.WriteString("'" + word + "':" + strings.Join(slices.Compact(at), ",") + " ")
	}
	return b.String()
}

// rankedDocuments is how many of the best documents a search goes on with. A word
// that is everywhere would otherwise cost seconds, to rank what nobody pages to.
const rankedDocuments = 5 * workspace.MaxSearchOffset

// FindNotes is workspace.SearchIndex.FindNotes.
func (Search) FindNotes(ctx context.Context, tx access.Tx, in workspace.Scope, q workspace.Search, offset, limit int) ([]workspace.SearchHit, error) {
	if len(in.ProjectIDs) == 0 || len(q.Terms) == 0 {
		return nil, nil
	}
	db, dialect := long(tx)
	var s statement
	most := rankedDocuments
	if !q.UpdatedAfter.IsZero() { // or the old ones could leave no place for the new
		most = math.MaxInt32
	}
	if dialect == postgres {
		s.add(`WITH hits AS (SELECT note_id, tab_id, -ts_rank(words, query) AS rank
			FROM search_documents, CAST(CAST(? AS text) AS tsquery) AS query WHERE words @@ query
			ORDER BY rank, note_id, tab_id LIMIT ?)`, tsquery(in, q.Terms), most)
	} else {
		s.add(`WITH ranked AS MATERIALIZED (SELECT rowid AS document, bm25(search_words, 0.0, 10.0, 4.0, 1.0) AS rank
				FROM search_words WHERE search_words MATCH ? ORDER BY rank, document LIMIT ?),
			hits AS (SELECT d.note_id, d.tab_id, r.rank FROM ranked r JOIN search_documents d ON d.document = r.document)`,
			ftsQuery(in, q.Terms), most)
	}
	s.add(`, best AS (SELECT h.*, n.project_id, n.title, n.version, n.updated_at,
			ROW_NUMBER() OVER (PARTITION BY h.note_id ORDER BY h.rank, h.tab_id) AS nth
		FROM hits h JOIN notes n ON n.id = h.note_id
		WHERE n.archived_at = 0 AND n.updated_at > ? AND `, msOf(q.UpdatedAfter))
	visible(&s, in)
	s.add(`)
		SELECT b.note_id, b.project_id, b.title, b.version, b.updated_at, b.tab_id, COALESCE((
			SELECT t.markdown FROM note_tabs t WHERE t.note_id = b.note_id AND (b.tab_id = '' OR t.id = b.tab_id)
			ORDER BY t.position LIMIT 1), '')
		FROM best b WHERE b.nth = 1 ORDER BY b.rank, b.note_id LIMIT ? OFFSET ?`, limit, offset)
	rows, err := db.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return nil, fmt.Errorf("search notes: %w", err)
	}
	defer rows.Close()
	var hits []workspace.SearchHit
	for rows.Next() {
		var h workspace.SearchHit
		var updated int64
		if err := rows.Scan(&h.NoteID, &h.ProjectID, &h.Title, &h.Version, &updated, &h.TabID, &h.Markdown); err != nil {
			return nil, fmt.Errorf("read search hit: %w", err)
		}
		h.UpdatedAt = timeOf(updated)
		hits = append(hits, h)
	}
	return hits, rows.Err()
}

// ftsQuery is the request in FTS5's language, each word in quotes: inside them
// nothing is an operator.
func ftsQuery(in workspace.Scope, terms []workspace.SearchTerm) string {
	var b strings.Builder
	b.WriteString(`place : "` + placeWord(in.WorkspaceID) + `" AND place : (`)
	for i, id := range in.ProjectIDs {
		if i > 0 {
			b.WriteString(" OR ")
		}
		b.WriteString(`"` + placeWord(id) + `"`)
	}
	b.WriteString(")")
	for _, t := range terms {
		b.WriteString(` AND {title heading body} : "` + strings.Join(t.Words, `" + "`) + `"`)
		if t.Prefix {
			b.WriteString(" *")
		}
	}
	return b.String()
}

// tsquery is the request in PostgreSQL's language, each word in quotes.
func tsquery(in workspace.Scope, terms []workspace.SearchTerm) string {
	var b strings.Builder
	b.WriteString(`'@` + placeWord(in.WorkspaceID) + `' & (`)
	for i, id := range in.ProjectIDs {
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteString(`'@` + placeWord(id) + `'`)
	}
	b.WriteString(")")
	for _, t := range terms {
		b.WriteString(` & ('` + strings.Join(t.Words, `' <-> '`) + `'`)
		if t.Prefix {
			b.WriteString(":*")
		}
		b.WriteString(")")
	}
	return b.String()
}

// OpenProjects is workspace.SearchIndex.OpenProjects.
func (Search) OpenProjects(ctx context.Context, tx access.Tx, workspaceID, userID string) ([]string, error) {
	const part = 1000
	var ids []string
	for after := ""; ; after = ids[len(ids)-1] {
		projects, err := Projects{}.ProjectsOf(ctx, tx, workspaceID, userID, workspace.Page{After: after, Limit: part})
		if err != nil {
			return nil, err
		}
		for _, p := range projects {
			ids = append(ids, p.ID)
		}
		if len(projects) < part {
			return ids, nil
		}
	}
}
