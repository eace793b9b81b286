// Writes what Go declares of the types of Kubernetes' API, for the generator of the embedded API server's tables: pointers,
// omitempty, named types, protobuf's numbers, and the markers of merging. It reads the sources of the modules in go.mod.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const head = `# Written by tests/kube-apiserver/declarations from the sources of Kubernetes %s; do not edit.
#
# What Go declares of each type and field. src/declarations.rs explains the words.
`

// The packages of served types; those of the groups stand beside them in k8s.io/api.
var roots = []string{
	"k8s.io/api/...",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"k8s.io/apimachinery/pkg/apis/meta/v1",
	"k8s.io/apimachinery/pkg/version",
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
}

// Versions of groups that no API server has served for years.
var gone = []string{
	"admission", "apidiscovery", "imagepolicy", "extensions", "apps/v1beta1", "apps/v1beta2", "authentication/v1beta1",
	"authorization/v1beta1", "batch/v1beta1", "discovery/v1beta1", "events/v1beta1",
	"flowcontrol/v1beta1", "flowcontrol/v1beta2", "flowcontrol/v1beta3", "node/v1alpha1", "node/v1beta1",
	"policy/v1beta1", "rbac/v1alpha1", "rbac/v1beta1", "scheduling/v1alpha1",
}

// Requests of which OpenAPI has no definition: the table has all that is known of them.
var options = []string{
	"NodeProxyOptions", "PodAttachOptions", "PodExecOptions", "PodPortForwardOptions", "PodProxyOptions",
	"ServiceProxyOptions", "CreateOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions",
}

type pkg struct {
	path    string
	structs map[string]declared
	// Named types that are no structs.
	named map[string]ast.Expr
	// Other names of types: `type A = v1.A`.
	aliases map[string]ast.Expr
	// Where the named types and aliases stand.
	files map[string]*ast.File
}

type declared struct {
	fields *ast.StructType
	file   *ast.File
	doc    []string
}

var packages = map[string]*pkg{}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	listed, err := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}} {{.Dir}}"}, roots...)...).Output()
	if err != nil {
		return fmt.Errorf("asking where the packages are: %w", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(listed)), "\n") {
		name, directory, _ := strings.Cut(line, " ")
		if err := read(name, directory); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	fmt.Printf(head, strings.TrimSpace(string(version)))
	paths := make([]string, 0, len(packages))
	for name := range packages {
		paths = append(paths, name)
	}
	slices.Sort(paths)
	for _, name := range paths {
		if served(name) {
			packages[name].write()
		}
	}
	return nil
}

func served(name string) bool {
	group, isAPI := strings.CutPrefix(name, "k8s.io/api/")
	return !isAPI || !slices.ContainsFunc(gone, func(g string) bool { return group == g || strings.HasPrefix(group, g+"/") })
}

func read(name, directory string) error {
	found := &pkg{name, map[string]declared{}, map[string]ast.Expr{}, map[string]ast.Expr{}, map[string]*ast.File{}}
	ours := func(info fs.FileInfo) bool {
		name := info.Name()
		return !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_") && !strings.HasPrefix(name, "generated.")
	}
	parsed, err := parser.ParseDir(token.NewFileSet(), directory, ours, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, files := range parsed {
		for _, file := range files.Files {
			for _, declaration := range file.Decls {
				general, ok := declaration.(*ast.GenDecl)
				if !ok || general.Tok != token.TYPE {
					continue
				}
				for _, spec := range general.Specs {
					spec := spec.(*ast.TypeSpec)
					doc := spec.Doc
					if doc == nil {
						doc = general.Doc
					}
					if fields, ok := spec.Type.(*ast.StructType); ok {
						found.structs[spec.Name.Name] = declared{fields, file, markers(doc)}
					} else {
						if spec.Assign.IsValid() {
							found.aliases[spec.Name.Name] = spec.Type
						} else {
							found.named[spec.Name.Name] = spec.Type
						}
						found.files[spec.Name.Name] = file
					}
				}
			}
		}
	}
	packages[name] = found
	return nil
}

// The lines of a comment that begin with `+`.
func markers(groups ...*ast.CommentGroup) []string {
	var found []string
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, line := range strings.Split(group.Text(), "\n") {
			if marker, ok := strings.CutPrefix(strings.TrimSpace(line), "+"); ok {
				found = append(found, marker)
			}
		}
	}
	return found
}

// The name of the definition in the OpenAPI document, without `io.k8s.`.
func (p *pkg) definition(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(p.path, "k8s.io/"), "/", ".") + "." + name
}

func (p *pkg) write() {
	names := make([]string, 0, len(p.structs))
	for name := range p.structs {
		names = append(names, name)
	}
	for name := range p.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		owner, behind := p.behind(name)
		if owner == nil {
			continue
		}
		of, ok := owner.structs[behind]
		if !ok {
			continue
		}
		lines := owner.fields(of, place{isMessage: slices.Contains(options, name)})
		if len(lines) == 0 {
			continue
		}
		words := "type " + p.definition(name)
		if value(of.doc, "structType") == "atomic" {
			words += " atomic"
		}
		if slices.Contains(options, name) {
			words += " new"
		}
		fmt.Printf("\n%s\n%s\n", words, strings.Join(lines, "\n"))
	}
}

// Where fields are that Go inlines: the numbers, the positions and the names of the structs around them.
type place struct {
	numbers, positions, structs []string
	isMessage                   bool
}

func (at place) inside(number, position, name string) place {
	return place{
		append(slices.Clone(at.numbers), number),
		append(slices.Clone(at.positions), position),
		append(slices.Clone(at.structs), name),
		at.isMessage,
	}
}

func (p *pkg) fields(of declared, at place) []string {
	var lines []string
	for position, field := range of.fields.Fields.List {
		if field.Tag == nil {
			continue
		}
		text, _ := strconv.Unquote(field.Tag.Value)
		tag := reflect.StructTag(text)
		named, ok := tag.Lookup("json")
		if !ok {
			continue
		}
		json := strings.Split(named, ",")
		number := ""
		if parts := strings.Split(tag.Get("protobuf"), ","); len(parts) > 1 {
			number = parts[1]
		}
		ordinal := strconv.Itoa(position + 1)
		if len(field.Names) == 0 && json[0] == "" {
			name := p.text(field.Type, of.file)
			if strings.HasSuffix(name, ".TypeMeta") {
				continue
			}
			inner, owner := p.find(field.Type, of.file)
			if inner == nil {
				panic(fmt.Sprintf("%s inlines %s, which is not known", p.path, name))
			}
			lines = append(lines, owner.fields(*inner, at.inside(number, ordinal, name[strings.LastIndex(name, ".")+1:]))...)
			continue
		}
		if json[0] == "" || json[0] == "-" {
			continue
		}
		lines = append(lines, " "+json[0]+" "+strings.Join(p.words(field, of.file, json[1:], tag, at, number, ordinal), " "))
	}
	return lines
}

func (p *pkg) words(field *ast.Field, file *ast.File, written []string, tag reflect.StructTag, at place, number, ordinal string) []string {
	var words []string
	if at.isMessage {
		words = append(words, "is="+p.leaf(field.Type, file))
	}
	ty := field.Type
	if pointer, ok := ty.(*ast.StarExpr); ok {
		words = append(words, "*")
		ty = pointer.X
	} else {
		words = append(words, "value")
	}
	switch {
	case slices.Contains(written, "omitzero"):
		words = append(words, "omitzero")
	case slices.Contains(written, "omitempty"):
		words = append(words, "omitempty")
	default:
		words = append(words, "always")
	}
	if name := p.name(ty, file); name != "" {
		words = append(words, "as="+name)
		if _, ok := p.underlying(ty, file).(*ast.MapType); ok {
			ty = nil
		} else {
			ty = p.underlying(ty, file)
		}
	}
	switch ty := ty.(type) {
	case *ast.ArrayType:
		if name := p.name(ty.Elt, file); name != "" {
			words = append(words, "of="+name)
		}
	case *ast.MapType:
		if name := p.name(ty.Value, file); name != "" {
			words = append(words, "of="+name)
		}
		if key := p.text(ty.Key, file); key != "string" {
			words = append(words, "by="+key)
		}
	}
	if number != "" {
		numbers := strings.Join(append(slices.Clone(at.numbers), number), ".")
		words = append(words, "number="+numbers)
	}
	words = append(words, "place="+strings.Join(append(slices.Clone(at.positions), ordinal), "."))
	if len(at.structs) > 0 {
		words = append(words, "in="+strings.Join(at.structs, "."))
	}
	markers := markers(field.Doc)
	if required(written, markers) {
		words = append(words, "required")
	}
	if at.isMessage {
		return words
	}
	return append(words, merge(tag, markers)...)
}

// Whether the schema requires a field, by the rule of Kubernetes' openapi-gen.
func required(written, markers []string) bool {
	if slices.Contains(markers, "optional") {
		return false
	}
	return slices.Contains(markers, "required") || !slices.Contains(written, "omitempty") && !slices.Contains(written, "omitzero")
}

func value(markers []string, name string) string {
	for _, marker := range markers {
		if value, ok := strings.CutPrefix(marker, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// How strategic merge patches and server-side apply treat a field.
func merge(tag reflect.StructTag, markers []string) []string {
	var words []string
	for _, strategy := range strings.Split(tag.Get("patchStrategy"), ",") {
		key := tag.Get("patchMergeKey")
		switch {
		case strategy == "merge" && key != "":
			words = append(words, "merge="+key)
		case strategy == "merge" || strategy == "replace":
			words = append(words, strategy)
		case strategy == "retainKeys":
			words = append(words, "retain")
		}
	}
	switch value(markers, "listType") {
	case "map":
		var keys []string
		for _, marker := range markers {
			if key, ok := strings.CutPrefix(marker, "listMapKey="); ok {
				keys = append(keys, strings.TrimSpace(key))
			}
		}
		words = append(words, "keys="+strings.Join(keys, ","))
	case "set":
		words = append(words, "set")
	case "atomic":
		words = append(words, "atomic")
	}
	if value(markers, "mapType") == "atomic" || value(markers, "structType") == "atomic" {
		words = append(words, "atomic")
	}
	if value(markers, "structType") == "granular" {
		words = append(words, "granular")
	}
	return words
}

// The struct that a type names, and its package.
func (p *pkg) find(ty ast.Expr, file *ast.File) (*declared, *pkg) {
	owner, name := p.resolve(ty, file)
	if owner == nil {
		return nil, nil
	}
	if found, ok := owner.structs[name]; ok {
		return &found, owner
	}
	return nil, nil
}

// The package and the name of a named type; no package if it is not read.
func (p *pkg) resolve(ty ast.Expr, file *ast.File) (*pkg, string) {
	switch ty := ty.(type) {
	case *ast.Ident:
		return p.behind(ty.Name)
	case *ast.SelectorExpr:
		if owner, ok := packages[imported(ty.X.(*ast.Ident).Name, file)]; ok {
			return owner.behind(ty.Sel.Name)
		}
	}
	return nil, ""
}

func (p *pkg) behind(name string) (*pkg, string) {
	if other, ok := p.aliases[name]; ok {
		return p.resolve(other, p.files[name])
	}
	// A struct under another name has the same fields: `type MatchCondition v1.MatchCondition`.
	if other, ok := p.named[name]; ok {
		if owner, behind := p.resolve(other, p.files[name]); owner != nil {
			if _, ok := owner.structs[behind]; ok {
				return owner, behind
			}
		}
	}
	return p, name
}

func imported(alias string, file *ast.File) string {
	for _, spec := range file.Imports {
		found, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name != nil && spec.Name.Name == alias || spec.Name == nil && path.Base(found) == alias {
			return found
		}
	}
	return ""
}

// What Go calls a named type that is no struct: `v1.PullPolicy`. Empty for others.
func (p *pkg) name(ty ast.Expr, file *ast.File) string {
	owner, name := p.resolve(ty, file)
	if owner != nil {
		if _, ok := owner.named[name]; ok && !hasOwnForm(name) {
			return path.Base(owner.path) + "." + name
		}
		return ""
	}
	// Of the packages that are not read, only these names stand in the types.
	if text := p.text(ty, file); text == "types.UID" || text == "types.NodeName" {
		return text
	}
	return ""
}

func (p *pkg) underlying(ty ast.Expr, file *ast.File) ast.Expr {
	owner, name := p.resolve(ty, file)
	if owner == nil {
		return ty
	}
	return owner.named[name]
}

// JSONSchemaPropsOrBool and the like are read and written by code of their own.
func hasOwnForm(name string) bool {
	return name == "JSON"
}

// A type as reflection prints it.
func (p *pkg) text(ty ast.Expr, file *ast.File) string {
	switch ty := ty.(type) {
	case *ast.Ident:
		if _, ok := p.named[ty.Name]; ok {
			return path.Base(p.path) + "." + ty.Name
		}
		if _, ok := p.structs[ty.Name]; ok {
			return path.Base(p.path) + "." + ty.Name
		}
		return ty.Name
	case *ast.SelectorExpr:
		return path.Base(imported(ty.X.(*ast.Ident).Name, file)) + "." + ty.Sel.Name
	case *ast.StarExpr:
		return p.text(ty.X, file)
	}
	return fmt.Sprintf("%T", ty)
}

// The table's word for the type of a field of a request.
func (p *pkg) leaf(ty ast.Expr, file *ast.File) string {
	switch ty := ty.(type) {
	case *ast.ArrayType:
		return "[]" + p.leaf(ty.Elt, file)
	case *ast.StarExpr:
		return p.leaf(ty.X, file)
	case *ast.Ident:
		if under, ok := p.named[ty.Name]; ok {
			return p.leaf(under, p.files[ty.Name])
		}
	}
	switch text := p.text(ty, file); text {
	case "v1.Time":
		return "time"
	default:
		return text
	}
}
