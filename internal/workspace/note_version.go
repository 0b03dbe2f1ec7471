package workspace

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/osfoundry/osfoundry/internal/access"
)

// maxConflictDiff is how much of a diff, in code points, a version_conflict
// carries.
const maxConflictDiff = 2000

// TabVersions is a part of a tab's history, newest first. The key of a page is a
// version.
func (s *Notes) TabVersions(ctx context.Context, tx access.Tx, p access.Permit, tabID string, page Page) (Listing[NoteTabVersion], error) {
	if err := p.Covers(access.KindNote, access.RightView); err != nil {
		return Listing[NoteTabVersion]{}, err
	}
	before := int64(1<<63 - 1)
	if page.After != "" {
		after, err := strconv.ParseInt(page.After, 10, 64)
		if err != nil {
			return Listing[NoteTabVersion]{}, refuseFaults(faultf("/cursor", "was not issued here"))
		}
		before = after
	}
	rows, err := s.store.NoteTabVersions(ctx, tx, noteKey(p), tabID, before, page.Limit+1)
	if err != nil {
		return Listing[NoteTabVersion]{}, err
	}
	if len(rows) == 0 {
		_, err := s.tab(ctx, tx, noteKey(p), tabID)
		return Listing[NoteTabVersion]{}, err
	}
	return Cut(rows, page.Limit, func(v NoteTabVersion) string { return strconv.FormatInt(v.Version, 10) }), nil
}

// TabVersion is one version of a tab's text.
func (s *Notes) TabVersion(ctx context.Context, tx access.Tx, p access.Permit, tabID string, version int64) (NoteTabVersion, error) {
	if err := p.Covers(access.KindNote, access.RightView); err != nil {
		return NoteTabVersion{}, err
	}
	return s.tabVersion(ctx, tx, noteKey(p), tabID, version)
}

func (s *Notes) tabVersion(ctx context.Context, tx access.Tx, key NoteKey, tabID string, version int64) (NoteTabVersion, error) {
	v, ok, err := s.store.NoteTabVersion(ctx, tx, key, tabID, version)
	if err != nil || ok {
		return v, err
	}
	if _, err := s.tab(ctx, tx, key, tabID); err != nil {
		return NoteTabVersion{}, err
	}
	return NoteTabVersion{}, access.Refuse(access.NotFound, "This tab has no version %d.", version)
}

// TabDiff is the unified diff from a version of a tab's text to the current one.
// It is "" when nothing differs.
func (s *Notes) TabDiff(ctx context.Context, tx access.Tx, p access.Permit, tabID string, version int64) (diff string, v NoteTabVersion, current NoteTab, err error) {
	if v, err = s.TabVersion(ctx, tx, p, tabID, version); err != nil {
		return "", v, current, err
	}
	if current, err = s.tab(ctx, tx, noteKey(p), tabID); err != nil {
		return "", v, current, err
	}
	diff, err = diffTexts(v.Version, current.Version, v.Markdown, current.Markdown)
	return diff, v, current, err
}

func diffTexts(from, to int64, before, after string) (string, error) {
	diff, err := udiff.ToUnified(fmt.Sprintf("version %d", from), fmt.Sprintf("version %d", to),
		before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return "", fmt.Errorf("diff of versions %d and %d: %w", from, to, err)
	}
	return diff, nil
}

// refuseStale is the version_conflict of product.md §3: the current version and
// what changed up to it.
func refuseStale(thing string, expected, current int64, diff string) error {
	e := access.Refuse(access.VersionConflict, "The %s is at version %d, not %d. Read it again and repeat the change on that.", thing, current, expected)
	shown, next := cutChars(diff, 0, maxConflictDiff)
	e.With("current_version", current).With("diff", shown)
	if next < charsIn(diff) {
		e.With("diff_truncated", true)
	}
	return e
}

// staleTab is the conflict of a tab's text; a version that never was has no diff.
func (s *Notes) staleTab(ctx context.Context, tx access.Tx, key NoteKey, t NoteTab, expected int64) error {
	old, ok, err := s.store.NoteTabVersion(ctx, tx, key, t.ID, expected)
	if err != nil {
		return err
	}
	diff := ""
	if ok {
		if diff, err = diffTexts(old.Version, t.Version, old.Markdown, t.Markdown); err != nil {
			return err
		}
	}
	return refuseStale("tab", expected, t.Version, diff)
}

// staleNote is the conflict of a note's title, place and tabs.
func (s *Notes) staleNote(ctx context.Context, tx access.Tx, key NoteKey, expected int64) error {
	now, err := s.outline(ctx, tx, key)
	if err != nil {
		return err
	}
	old, ok, err := s.store.NoteVersion(ctx, tx, key, expected)
	if err != nil {
		return err
	}
	diff := ""
	if ok {
		current := versionOf(now)
		if diff, err = diffTexts(old.Version, current.Version, old.lines(key.ProjectID), current.lines(key.ProjectID)); err != nil {
			return err
		}
	}
	return refuseStale("note", expected, now.Version, diff)
}

func versionOf(n NoteOutline) NoteVersion {
	v := NoteVersion{Version: n.Version, ProjectID: n.ProjectID, Title: n.Title, Archived: n.Archived(), CreatedAt: n.UpdatedAt, CreatedBy: n.Author}
	for _, t := range n.Tabs {
		v.Tabs = append(v.Tabs, TabTitle{t.ID, t.Title})
	}
	return v
}

// lines writes v as a text that a diff can be made of. A project other than the
// one the reader may see the note in is not named.
func (v NoteVersion) lines(projectID string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\n", v.Title)
	project := "another one"
	if v.ProjectID == projectID {
		project = projectID
	}
	fmt.Fprintf(&b, "project: %s\narchived: %t\n", project, v.Archived)
	for _, t := range v.Tabs {
		fmt.Fprintf(&b, "tab %s: %s\n", t.ID, t.Title)
	}
	return b.String()
}
