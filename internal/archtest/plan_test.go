package archtest

import (
	"os"
	"testing"
)

// words are those of product.md that this release has something behind.
var words = []string{
	"user", "workspace", "project", "resource", "note", "tab", "assistant", "client", "connection", "approver",
	"scope", "permit", "local-only",
}

// repository reads the tree that this test lies in. It uses the file system and
// nothing else, so that the test runs again when any file changes.
func repository(t *testing.T) *Tree {
	t.Helper()
	tree, err := Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Go) < 20 {
		t.Fatalf("read %d Go files: this is not the repository", len(tree.Go))
	}
	return tree
}

func TestTheRepositoryKeepsTheRules(t *testing.T) {
	tree := repository(t)
	rules := []struct {
		name string
		find func(*Tree) []string
	}{
		{"imports follow the arrows", Arrows},
		{"each room says what it owns", PackageComments},
		{"names say what is in it", Names},
		{"files are short", LongFiles},
		{"exported identifiers are explained", DocComments},
		{"outgoing requests are guarded", Outbound},
		{"tests run", Skips},
		{"texts belong to no machine", Texts},
		{"dependencies are listed", Dependencies},
		{"the glossary has the product's words", func(t *Tree) []string { return Glossary(t, words...) }},
		{"documents name what is there", Documents},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, finding := range rule.find(tree) {
				t.Error(finding)
			}
		})
	}
}
