package workspace

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
)

// SearchIndex finds notes by the words in them. The index changes in the unit of
// work that changes the note, so a search never sees a note that is no longer so.
type SearchIndex interface {
	// IndexNote brings the index up to date with one note: its title, its place and
	// all its tabs. Whoever creates, renames, moves, archives or restores a note, or
	// changes its list of tabs, calls it afterwards in the same tx. A note that is
	// gone, or in the archive, is removed from the index.
	IndexNote(ctx context.Context, tx access.Tx, workspaceID, noteID string) error
	// IndexTab does so for one tab, whose title or text changed.
	IndexTab(ctx context.Context, tx access.Tx, workspaceID, noteID, tabID string) error
	// FindNotes lists the notes that hold all terms, the most relevant first and
	// equally relevant ones by ID, from the place offset on. It leaves out what the
	// scope may not see. Of very many hits only the best are considered.
	FindNotes(ctx context.Context, tx access.Tx, in Scope, s Search, offset, limit int) ([]SearchHit, error)
	// OpenProjects lists the IDs of the workspace's projects that the person can open.
	OpenProjects(ctx context.Context, tx access.Tx, workspaceID, userID string) ([]string, error)
}

// Scope is what one connection, or one person, may see at this moment, as far as it
// is said by projects: rows are still judged by local-only and ACL.
type Scope struct {
	WorkspaceID string
	UserID      string   // the person, or the approver
	ProjectIDs  []string // open to them, and granted to the connection

	// Person says that UserID asks for themselves: to people, local-only notes are
	// notes like others, and an ACL that lets them look is enough.
	Person bool

	// ConnectionID is the connection whose seats open sessions; "" opens none.
	ConnectionID string
}

// Search is a request to FindNotes.
type Search struct {
	Terms        []SearchTerm
	UpdatedAfter time.Time // zero: any time
}

// SearchHit is one note that was found, by its best tab.
type SearchHit struct {
	NoteID    string
	ProjectID string
	Title     string
	Version   int64
	UpdatedAt time.Time
	TabID     string // "" where the title alone was found
	Markdown  string // of that tab, or of the first, to make a snippet of
}

// SnippetChars is the most characters a snippet has.
const SnippetChars = 300

// Snippet is a piece of Markdown as plain text on one line, at most SnippetChars
// long, from around the first word that a term finds.
func Snippet(markdown string, terms []SearchTerm) string {
	const before = 80 // bytes shown in front of the word
	begin := firstMatch(markdown, terms)
	if begin < before {
		begin = 0
	} else {
		begin = startOfWord(markdown, begin-before)
	}
	// Marks and links vanish, so more is read than is shown.
	end := min(len(markdown), begin+8*SnippetChars)
	for end < len(markdown) && !utf8.RuneStart(markdown[end]) {
		end++
	}
	text := plain(markdown[begin:end])
	if begin > 0 {
		text = "… " + text
	}
	if utf8.RuneCountInString(text) <= SnippetChars && end == len(markdown) {
		return text
	}
	runes := []rune(text)
	return strings.TrimRight(string(runes[:min(len(runes), SnippetChars-2)]), " ") + " …"
}

// firstMatch is where the first word that a term looks for begins, or 0.
func firstMatch(text string, terms []SearchTerm) int {
	for word, at := range words(text) {
		for _, t := range terms {
			if word == t.Words[0] || t.Prefix && len(t.Words) == 1 && strings.HasPrefix(word, t.Words[0]) {
				return at
			}
		}
	}
	return 0
}

// startOfWord is the first place at or behind from, but not far behind, where a
// word begins.
func startOfWord(text string, from int) int {
	if i := strings.IndexAny(text[from:min(len(text), from+40)], " \n\t"); i >= 0 {
		return from + i + 1
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	return from
}
