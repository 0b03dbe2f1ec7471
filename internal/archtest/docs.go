package archtest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// row is one line of a Markdown table, without its head.
type row struct {
	heading string // the nearest heading above
	cells   []string
	line    int
}

// tableRows reads the body rows of every table in a Markdown text.
func tableRows(text []byte) []row {
	var rows []row
	heading, body, number := "", false, 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			heading, body = strings.TrimSpace(strings.TrimLeft(line, "#")), false
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.Trim(line, "|-: ") == "":
			body = true
		case body:
			cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|"))
			}
			rows = append(rows, row{heading, cells, number})
		}
	}
	return rows
}

const dependenciesDoc = "docs/dependencies.md"

// Dependencies finds differences between docs/dependencies.md and what the
// project is built of: the modules of go.mod that its code imports, the tools of
// tools/go.mod, and the packages of manifests. A row names one of
// them and says what it is for, under which licence, and why it is not our own.
func Dependencies(t *Tree) []string {
	wanted := map[string]bool{}
	found := directModules(t, wanted)
	for module := range toolModules(t) {
		wanted[module] = true
	}
	for name := range npmPackages(t) {
		wanted[name] = true
	}
	listed := map[string]bool{}
	for _, r := range tableRows(t.Files[dependenciesDoc]) {
		name := strings.Trim(r.cells[0], "`")
		at := fmt.Sprintf("%s:%d: %s", dependenciesDoc, r.line, name)
		switch {
		case listed[name]:
			found = append(found, at+" is listed twice")
		case !wanted[name]:
			found = append(found, at+" is listed, but nothing imports it")
		case len(r.cells) != 4 || slices.Contains(r.cells, ""):
			found = append(found, at+" needs what for, licence, and why not our own")
		}
		listed[name] = true
	}
	for name := range wanted {
		if !listed[name] {
			found = append(found, fmt.Sprintf("%s is a direct dependency, but %s does not list it", name, dependenciesDoc))
		}
	}
	slices.Sort(found)
	return found
}

// directModules adds the modules of go.mod that a Go file imports, and finds
// those that go.mod does not know as direct.
func directModules(t *Tree, direct map[string]bool) []string {
	indirect := requirements(t.Files["go.mod"])
	for _, f := range t.Go {
		for _, imported := range f.imports() {
			if module := moduleOf(imported, indirect); module != "" {
				direct[module] = true
			}
		}
	}
	var found []string
	for module, marked := range indirect {
		if marked == direct[module] {
			found = append(found, fmt.Sprintf("go.mod: %s: run go mod tidy", module))
		}
	}
	return found
}

// requirements reads the modules that a go.mod requires, and whether each is
// marked as indirect.
func requirements(gomod []byte) map[string]bool {
	indirect := map[string]bool{}
	block := false
	for line := range strings.Lines(string(gomod)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "require" && fields[1] == "(":
			block = true
			continue
		case len(fields) == 1 && fields[0] == ")":
			block = false
		case len(fields) > 2 && fields[0] == "require":
			fields = fields[1:]
		case !block:
			continue
		}
		if len(fields) >= 2 {
			indirect[fields[0]] = strings.HasSuffix(strings.TrimSpace(line), "// indirect")
		}
	}
	return indirect
}

// moduleOf is the longest required module that the import path lies in.
func moduleOf(imported string, modules map[string]bool) string {
	for p := imported; p != "." && p != "/"; p = path.Dir(p) {
		if _, ok := modules[p]; ok {
			return p
		}
	}
	return ""
}

// toolModules are the modules of the tool lines of tools/go.mod.
func toolModules(t *Tree) map[string]bool {
	gomod := t.Files["tools/go.mod"]
	modules := requirements(gomod)
	tools := map[string]bool{}
	for line := range strings.Lines(string(gomod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "tool "))
		if len(fields) != 1 {
			continue
		}
		if module := moduleOf(fields[0], modules); module != "" {
			tools[module] = true
		}
	}
	return tools
}

// manifests name the packages of the web app and of the browser tests.
var manifests = []string{"ui/package.json", "e2e/browser/package.json"}

// npmPackages are the npm packages that the manifests name.
func npmPackages(t *Tree) map[string]bool {
	names := map[string]bool{}
	for _, file := range manifests {
		var manifest struct {
			Dependencies    map[string]string `json:"dependencies"`
			DevDependencies map[string]string `json:"devDependencies"`
		}
		if json.Unmarshal(t.Files[file], &manifest) != nil {
			continue
		}
		for _, list := range []map[string]string{manifest.Dependencies, manifest.DevDependencies} {
			for name := range list {
				names[name] = true
			}
		}
	}
	return names
}

const glossaryDoc = "docs/glossary.md"

// Glossary finds words of the product that docs/glossary.md lacks, explains
// twice, or does not explain.
func Glossary(t *Tree, words ...string) []string {
	var found []string
	explained := map[string]bool{}
	for _, r := range tableRows(t.Files[glossaryDoc]) {
		if len(r.cells) < 2 || slices.Contains(r.cells[:2], "") {
			found = append(found, fmt.Sprintf("%s:%d: a word without a meaning", glossaryDoc, r.line))
			continue
		}
		for word := range strings.SplitSeq(r.cells[0], ",") {
			word = strings.TrimSpace(word)
			if explained[word] {
				found = append(found, fmt.Sprintf("%s:%d: %q is explained twice", glossaryDoc, r.line, word))
			}
			explained[word] = true
		}
	}
	for _, word := range words {
		if !explained[word] {
			found = append(found, fmt.Sprintf("%s does not explain %q", glossaryDoc, word))
		}
	}
	return found
}

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	fence    = regexp.MustCompile("(?ms)^```.*?^```")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	symbol   = regexp.MustCompile(`^\*?([a-z]+)\.([A-Z]\w*)(?:\.(\w+))?(?:\(.*\))?$`)
	ourPath  = regexp.MustCompile(`^(?:cmd|internal|e2e|bench|docs|scripts|tools|\.ci)/[\w./-]+$`)
)

// Documents finds places where the Markdown documents name a symbol, a file or
// a link target that is not there.
func Documents(t *Tree) []string {
	symbols := declared(t)
	var found []string
	for _, name := range t.paths() {
		if path.Ext(name) != ".md" {
			continue
		}
		text := fence.ReplaceAllString(string(t.Files[name]), "")
		for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
			if why := stale(t, symbols, span[1]); why != "" {
				found = append(found, fmt.Sprintf("%s: `%s`: %s", name, span[1], why))
			}
		}
		for _, target := range link.FindAllStringSubmatch(text, -1) {
			to, _, _ := strings.Cut(target[1], "#")
			if to == "" || strings.Contains(to, ":") || t.exists(path.Join(path.Dir(name), to)) {
				continue
			}
			found = append(found, fmt.Sprintf("%s: the link %s leads nowhere", name, target[1]))
		}
	}
	return found
}

// stale says what is wrong with a code span that names a symbol of a room or a
// path of the repository.
func stale(t *Tree, symbols map[string]map[string]bool, span string) string {
	if ourPath.MatchString(span) && !t.exists(span) {
		return "no such file or folder"
	}
	m := symbol.FindStringSubmatch(span)
	if m == nil || symbols[m[1]] == nil {
		return ""
	}
	full := m[2]
	if m[3] != "" {
		full += "." + m[3]
	}
	if !symbols[m[1]][full] {
		return "no such symbol"
	}
	return ""
}

// exists reports whether a file or folder is in the tree.
func (t *Tree) exists(name string) bool {
	name = strings.TrimSuffix(name, "/")
	if _, ok := t.Files[name]; ok {
		return true
	}
	for file := range t.Files {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// declared lists, per package of internal/, its symbols: Name, and Type.Member
// for methods, fields and methods of interfaces.
func declared(t *Tree) map[string]map[string]bool {
	symbols := map[string]map[string]bool{}
	for _, f := range t.Go {
		if f.Test || !strings.HasPrefix(f.Dir, "internal/") {
			continue
		}
		set := symbols[path.Base(f.Dir)]
		if set == nil {
			set = map[string]bool{}
			symbols[path.Base(f.Dir)] = set
		}
		for _, decl := range f.Syntax.Decls {
			declare(set, decl)
		}
	}
	return symbols
}

func declare(set map[string]bool, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d) + "." + name
		}
		set[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			declareSpec(set, spec)
		}
	}
}

func declareSpec(set map[string]bool, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			set[n.Name] = true
		}
	case *ast.TypeSpec:
		set[s.Name.Name] = true
		var members *ast.FieldList
		switch typ := s.Type.(type) {
		case *ast.StructType:
			members = typ.Fields
		case *ast.InterfaceType:
			members = typ.Methods
		default:
			return
		}
		for _, m := range members.List {
			for _, n := range m.Names {
				set[s.Name.Name+"."+n.Name] = true
			}
		}
	}
}
