package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the repository's root.
const Module = "github.com/osfoundry/osfoundry"

// Tree is the repository as the rules see it: every file that is not ignored,
// and the syntax of those in Go.
type Tree struct {
	Files map[string][]byte // by slash-separated path from the root
	Go    []GoFile          // in the order of their paths; the root module's only
	fset  *token.FileSet
}

// GoFile is one parsed Go file.
type GoFile struct {
	Path      string // from the root of the repository
	Dir       string // of Path
	Syntax    *ast.File
	Test      bool // named _test.go
	Generated bool // bears the mark of generated code
	Lines     int
}

// Load reads the tree under fsys, leaving out the directories that its
// .gitignore names and .git. Binary files are kept without content.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{Files: map[string][]byte{}, fset: token.NewFileSet()}
	ignored, err := ignoredDirectories(fsys)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (ignored["/"+name] || ignored[entry.Name()]):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		return t.read(fsys, name)
	})
	if err != nil {
		return nil, err
	}
	return t, t.parse()
}

// ignoredDirectories reads the plain directory lines of .gitignore: "/bin/" is
// one at the root, "node_modules/" one anywhere.
func ignoredDirectories(fsys fs.FS) (map[string]bool, error) {
	dirs := map[string]bool{".git": true}
	text, err := fs.ReadFile(fsys, ".gitignore")
	if err != nil {
		return nil, fmt.Errorf("the tree needs a .gitignore: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if dir, ok := strings.CutSuffix(strings.TrimSpace(line), "/"); ok {
			dirs[dir] = true
		}
	}
	return dirs, nil
}

func (t *Tree) read(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if bytes.IndexByte(text[:min(len(text), 8192)], 0) >= 0 {
		text = nil // an image or another binary
	}
	t.Files[name] = text
	return nil
}

// parse reads the syntax of the root module's Go files; a folder with a go.mod
// of its own is another module.
func (t *Tree) parse() error {
	for name, text := range t.Files {
		if path.Ext(name) != ".go" || t.otherModule(name) || strings.Contains(name, "testdata/") {
			continue
		}
		syntax, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		t.Go = append(t.Go, GoFile{
			Path: name, Dir: path.Dir(name), Syntax: syntax,
			Test: strings.HasSuffix(name, "_test.go"), Generated: ast.IsGenerated(syntax),
			Lines: bytes.Count(text, []byte("\n")),
		})
	}
	slices.SortFunc(t.Go, func(a, b GoFile) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (t *Tree) otherModule(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := t.Files[dir+"/go.mod"]; ok {
			return true
		}
	}
	return false
}

// at renders a place for a finding.
func (t *Tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// paths lists the tree's files in order.
func (t *Tree) paths() []string {
	names := make([]string, 0, len(t.Files))
	for name := range t.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// imports lists what the file imports.
func (f GoFile) imports() []string {
	list := make([]string, 0, len(f.Syntax.Imports))
	for _, spec := range f.Syntax.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
			list = append(list, imported)
		}
	}
	return list
}

// named is the name under which the file knows an import path, "" if it does
// not import it.
func (f GoFile) named(importPath string) string {
	for _, spec := range f.Syntax.Imports {
		if spec.Path.Value != strconv.Quote(importPath) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}
