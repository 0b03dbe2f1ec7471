package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

var sentence = regexp.MustCompile(`[.!?](\s|$)`)

// PackageComments finds packages without a comment of at least two sentences
// that begins with the package's name: what it owns, what it hands off.
func PackageComments(t *Tree) []string {
	comments := map[string]string{}
	names := map[string]string{}
	for _, f := range t.Go {
		if f.Test {
			continue
		}
		names[f.Dir] = f.Syntax.Name.Name
		if !f.Generated {
			comments[f.Dir] += f.Syntax.Doc.Text()
		} else if _, ok := comments[f.Dir]; !ok {
			delete(names, f.Dir)
		}
	}
	var found []string
	for dir, name := range names {
		begin := "Package " + name + " "
		if name == "main" {
			begin = "Command " + path.Base(dir) + " "
		}
		text := comments[dir]
		if !strings.HasPrefix(text, begin) || len(sentence.FindAllString(text, -1)) < 2 {
			found = append(found, fmt.Sprintf("%s: the package comment must begin %q and say in two sentences or more what the room owns and what it hands off", dir, begin))
		}
	}
	slices.Sort(found)
	return found
}

// namesOfNothing say of a package or file only that its author had no word for
// what is in it.
var namesOfNothing = []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "shared", "stuff"}

// Names finds packages, folders and files with a name that names nothing.
func Names(t *Tree) []string {
	var found []string
	for _, name := range t.paths() {
		if strings.Contains(name, "testdata/") {
			continue
		}
		for part := range strings.SplitSeq(name, "/") {
			stem, _, _ := strings.Cut(strings.ToLower(part), ".")
			words := strings.FieldsFunc(stem, func(r rune) bool { return r == '_' || r == '-' })
			if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(namesOfNothing, w) }); i >= 0 {
				found = append(found, fmt.Sprintf("%s: %q names nothing; use the word of what is in it", name, words[i]))
			}
		}
	}
	for _, f := range t.Go {
		if name := strings.TrimSuffix(f.Syntax.Name.Name, "_test"); slices.Contains(namesOfNothing, name) {
			found = append(found, fmt.Sprintf("%s: package %s names nothing", f.Path, name))
		}
	}
	return found
}

// MaxLines is how long a hand-written source file may be.
const MaxLines = 700

// LongFiles finds hand-written source files of more than MaxLines lines.
func LongFiles(t *Tree) []string {
	generated := map[string]bool{}
	for _, f := range t.Go {
		generated[f.Path] = f.Generated
	}
	var found []string
	for _, name := range t.paths() {
		switch path.Ext(name) {
		case ".go", ".sql", ".sh", ".js", ".mjs", ".ts", ".tsx", ".css", ".html":
		default:
			continue
		}
		if lines := strings.Count(string(t.Files[name]), "\n"); lines > MaxLines && !generated[name] {
			found = append(found, fmt.Sprintf("%s: %d lines, more than %d: is it one room?", name, lines, MaxLines))
		}
	}
	return found
}

// ownDocs are methods whose meaning is fixed by a well-known interface.
var ownDocs = []string{"Error", "Unwrap", "Is", "As", "String", "GoString", "ServeHTTP", "MarshalJSON", "UnmarshalJSON",
	"MarshalText", "UnmarshalText", "Len", "Less", "Swap", "LogValue"}

// DocComments finds exported identifiers under internal/ without a comment.
func DocComments(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if f.Test || f.Generated || !strings.HasPrefix(f.Dir, "internal/") {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			for _, name := range undocumented(decl) {
				found = append(found, fmt.Sprintf("%s: %s is exported and has no comment", t.at(name.Pos()), name.Name))
			}
		}
	}
	return found
}

// undocumented lists the exported names that a declaration leaves unexplained.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		inherited := d.Recv != nil && (!ast.IsExported(receiver(d)) || slices.Contains(ownDocs, d.Name.Name))
		if d.Name.IsExported() && d.Doc.Text() == "" && !inherited {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc.Text() != "" {
			return nil
		}
		var names []*ast.Ident
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
			return []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc.Text() != "" || s.Comment.Text() != "" {
			return nil
		}
		return slices.DeleteFunc(slices.Clone(s.Names), func(n *ast.Ident) bool { return !n.IsExported() })
	}
	return nil
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// unguarded are the ways of package net/http to reach any address, or to serve,
// with nobody's limits.
var unguarded = []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm",
	"DefaultServeMux", "Handle", "HandleFunc", "ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"}

// Outbound finds uses of net/http's process-wide client and server outside
// package guard and tests: outgoing requests go through guard's dialer or a
// client with a transport of its own, and servers have time limits.
func Outbound(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		name := f.named("net/http")
		if f.Test || f.Dir == "internal/guard" || name == "" {
			continue
		}
		if name == "." {
			found = append(found, fmt.Sprintf("%s: net/http is imported without a name", f.Path))
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if what := unguardedUse(n, name); what != "" {
				found = append(found, fmt.Sprintf("%s: http.%s", t.at(n.Pos()), what))
			}
			return true
		})
	}
	return found
}

func unguardedUse(n ast.Node, name string) string {
	switch x := n.(type) {
	case *ast.SelectorExpr:
		if of(x, name) && slices.Contains(unguarded, x.Sel.Name) {
			return x.Sel.Name
		}
	case *ast.CompositeLit:
		typ, ok := x.Type.(*ast.SelectorExpr)
		if ok && of(typ, name) && typ.Sel.Name == "Client" && !sets(x, "Transport") {
			return "Client without a Transport"
		}
	case *ast.CallExpr:
		fun, ok := x.Fun.(*ast.Ident)
		if ok && fun.Name == "new" && len(x.Args) == 1 {
			if typ, ok := x.Args[0].(*ast.SelectorExpr); ok && of(typ, name) && typ.Sel.Name == "Client" {
				return "Client without a Transport"
			}
		}
	}
	return ""
}

// of reports whether the selector is of the package known by name.
func of(x *ast.SelectorExpr, name string) bool {
	id, ok := x.X.(*ast.Ident)
	return ok && id.Name == name
}

func sets(lit *ast.CompositeLit, field string) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := kv.Key.(*ast.Ident)
		return ok && key.Name == field
	})
}

// Skips finds tests that do not run: a test that is skipped where it matters
// passes for ever.
func Skips(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if f.named("testing") == "" {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, x.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: a test must not be skipped", t.at(n.Pos())))
			}
			return true
		})
	}
	return found
}
