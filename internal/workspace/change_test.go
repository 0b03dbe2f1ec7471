package workspace

import "testing"

func TestChangeWords(t *testing.T) {
	for eventType, want := range map[string]string{
		"note.created": ChangeCreated, "note.edited": ChangeEdited, "note.renamed": ChangeEdited, "note.tab_added": ChangeEdited,
		"note.moved": ChangeMoved, "note.archived": ChangeArchived, "note.restored": ChangeRestored,
		"note.acl_changed": ChangeRegranted, "note.local_only_changed": ChangeRegranted, "connection.added_to_project": ChangeRegranted,
		"": ChangeEdited,
	} {
		if got := ChangeWord(eventType); got != want {
			t.Errorf("%s: got %q, want %q", eventType, got, want)
		}
	}
}
