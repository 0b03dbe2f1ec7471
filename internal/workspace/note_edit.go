package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
)

// TextEdit replaces the one passage that reads Find.
type TextEdit struct{ Find, Replace string }

// mostMatches is where counting the matches of a passage ends.
const mostMatches = 10_000

// EditTab replaces passages of a tab's text. The edits work one after the other,
// each on what the ones before it left; each passage must then stand there
// exactly once, overlaps counted. If one does not, nothing is changed and the
// refusal says which and how often. Expected is the tab's version.
func (s *Notes) EditTab(ctx context.Context, tx access.Tx, p access.Permit, tabID string, edits []TextEdit, expected int64) (NoteTab, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return NoteTab{}, err
	}
	var faults []Fault
	for i, e := range edits {
		if e.Find == "" {
			faults = append(faults, faultf(itemPointer("edits", i, "find"), "must not be empty"))
		}
		faults = append(faults, textFaults(itemPointer("edits", i, "replace"), e.Replace)...)
	}
	if faults != nil {
		return NoteTab{}, refuseFaults(faults...)
	}
	return s.change(ctx, tx, p, tabID, &expected, nil, func(markdown string) (string, error) {
		for i, e := range edits {
			var err error
			if markdown, err = e.apply(markdown, i); err != nil {
				return "", err
			}
		}
		return markdown, nil
	})
}

// apply is markdown with the i-th edit done.
func (e TextEdit) apply(markdown string, i int) (string, error) {
	at, matches := occurrences(markdown, e.Find)
	if matches == 1 {
		return markdown[:at] + e.Replace + markdown[at+len(e.Find):], nil
	}
	return "", refuseFaults(faultf(itemPointer("edits", i, "find"), "%s", matchFault(markdown, e.Find, matches))).
		With("edit", i).With("matches", matches)
}

// occurrences counts where passage stands in text, also where it overlaps
// itself, and says where it does first.
func occurrences(text, passage string) (first, n int) {
	first = strings.Index(text, passage)
	for at := first; at >= 0 && n < mostMatches; n++ {
		next := strings.Index(text[at+1:], passage)
		if next < 0 {
			return first, n + 1
		}
		at += 1 + next
	}
	return first, n
}

// matchFault words why a passage that does not stand in text once can't be replaced.
func matchFault(text, find string, matches int) string {
	switch {
	case matches >= mostMatches:
		return fmt.Sprintf("matches %d times or more, and must match once; take more of the text around it", mostMatches)
	case matches > 1:
		return fmt.Sprintf("matches %d times, and must match once; take more of the text around it", matches)
	case strings.Contains(text, "\r\n") && strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), find):
		return "matches 0 times, because lines of this tab end in CR LF"
	}
	return "matches 0 times, and must match once"
}

// AppendTab adds Markdown at the end of a tab's text or, where heading is not
// "", of that heading's section. It begins on a line of its own. There is no
// version to expect: whatever the text is by then, it is added to that.
func (s *Notes) AppendTab(ctx context.Context, tx access.Tx, p access.Permit, tabID, more, heading string) (NoteTab, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return NoteTab{}, err
	}
	if faults := textFaults("/markdown", more); faults != nil {
		return NoteTab{}, refuseFaults(faults...)
	}
	return s.change(ctx, tx, p, tabID, nil, nil, func(markdown string) (string, error) {
		if heading == "" {
			return appended(markdown, more), nil
		}
		section, err := sectionOf(markdown, heading)
		if err != nil {
			return "", err
		}
		return appendedTo(markdown, more, section), nil
	})
}

// ReplaceTab overwrites a tab's text. Expected is the tab's version.
func (s *Notes) ReplaceTab(ctx context.Context, tx access.Tx, p access.Permit, tabID, markdown string, expected int64) (NoteTab, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return NoteTab{}, err
	}
	if faults := textFaults("/markdown", markdown); faults != nil {
		return NoteTab{}, refuseFaults(faults...)
	}
	return s.change(ctx, tx, p, tabID, &expected, nil, func(string) (string, error) { return markdown, nil })
}

// RestoreTab makes the text of a past version current again, as a new version.
// Expected is the tab's current version.
func (s *Notes) RestoreTab(ctx context.Context, tx access.Tx, p access.Permit, tabID string, version, expected int64) (NoteTab, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return NoteTab{}, err
	}
	data := map[string]any{"restored_version": version}
	return s.change(ctx, tx, p, tabID, &expected, data, func(string) (string, error) {
		old, err := s.tabVersion(ctx, tx, noteKey(p), tabID, version)
		return old.Markdown, err
	})
}

// change gives a tab the text that edit makes of its current one, as its next
// version. A nil expected takes whatever version is current.
func (s *Notes) change(ctx context.Context, tx access.Tx, p access.Permit, tabID string, expected *int64, data map[string]any,
	edit func(markdown string) (string, error)) (NoteTab, error) {
	n, err := s.hold(ctx, tx, p)
	if err != nil {
		return NoteTab{}, err
	}
	t, err := s.tab(ctx, tx, noteKey(p), tabID)
	if err != nil {
		return NoteTab{}, err
	}
	if expected != nil && *expected != t.Version {
		return NoteTab{}, s.staleTab(ctx, tx, noteKey(p), t, *expected)
	}
	was := t.Version
	if t.Markdown, err = edit(t.Markdown); err != nil {
		return NoteTab{}, err
	}
	if err := fits(t.Markdown); err != nil {
		return NoteTab{}, err
	}
	t.Version, t.Chars = was+1, charsIn(t.Markdown)
	t.UpdatedAt, t.UpdatedBy = n.UpdatedAt, authorOf(p.Principal())
	ok, err := s.store.SaveNoteTab(ctx, tx, noteKey(p), t, was)
	if err != nil {
		return NoteTab{}, err
	}
	if !ok {
		return NoteTab{}, refuseStale("tab", was, was+1, "")
	}
	if err := s.index.IndexTab(ctx, tx, n.WorkspaceID, n.ID, t.ID); err != nil {
		return NoteTab{}, err
	}
	event := map[string]any{"tab_id": t.ID, "tab_version": t.Version}
	for key, value := range data {
		event[key] = value
	}
	return t, s.record(ctx, tx, p, "note.edited", n, event)
}

// hold begins a change of the note that p names: nobody else changes it until
// tx ends, and it is neither archived nor moved since the check.
func (s *Notes) hold(ctx context.Context, tx access.Tx, p access.Permit) (Note, error) {
	n, err := s.holdAnyway(ctx, tx, p)
	if err == nil && n.Archived() {
		err = s.refuseArchived(p, n)
	}
	return n, err
}

// holdAnyway is hold, in the archive too.
func (s *Notes) holdAnyway(ctx context.Context, tx access.Tx, p access.Permit) (Note, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return Note{}, err
	}
	n, ok, err := s.store.HoldNote(ctx, tx, noteKey(p), authorOf(p.Principal()), s.now())
	if err == nil && !ok { // between the check and now, where writers run side by side
		err = access.Refuse(access.Busy, "The note was moved or deleted at this moment. Read it again.")
	}
	return n, err
}

// refuseArchived answers a change of a note in the archive. Taking it out again
// is for people (product.md §3).
func (s *Notes) refuseArchived(p access.Permit, n Note) error {
	if p.Principal().IsConnection() {
		return access.Refuse(access.HumanRequired, "This note is in the archive. A person must restore it before it can change.").
			With("url", s.publicURL+"/notes/"+n.ID)
	}
	return access.Refuse(access.Conflict, "This note is in the archive. Restore it first.")
}

// record says what happened. Data never holds words of the note: whoever may see
// the event's project need not be on the note's list of people.
func (s *Notes) record(ctx context.Context, tx access.Tx, p access.Permit, event string, n Note, data map[string]any) error {
	return s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: n.WorkspaceID, ProjectID: n.ProjectID, Type: event,
		Kind: access.KindNote, ResourceID: n.ID, Version: n.Version, Data: data,
	})
}
