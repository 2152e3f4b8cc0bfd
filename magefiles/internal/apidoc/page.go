// SPDX-License-Identifier: Apache-2.0

package apidoc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// methods are the operations of a path in the order they are shown.
var methods = []string{"post", "get", "put", "patch", "delete"}

// Page is one page of the site.
type Page struct {
	Document string // path of the OpenAPI document
	Source   string // how the page names the document, relative to the repository
	Weight   int    // place among the pages of its section
}

// Write renders the document into a Markdown file.
func (p Page) Write(path string) error {
	text, err := p.Render()
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Render returns the page as Markdown for Hugo.
func (p Page) Render() (string, error) {
	document, err := load(p.Document)
	if err != nil {
		return "", err
	}
	w := &writer{folder: filepath.Dir(p.Document)}
	w.line("---\n# Code generated from %s. DO NOT EDIT.", p.Source)
	w.line("title: %s\nweight: %d\n---\n", document.at("info", "title").text(), p.Weight)
	w.block(document.at("info", "description").paragraphs())
	w.line("This page is made from `%s`, version %s.\n", p.Source, document.at("info", "version").text())
	w.address(document)
	for _, path := range document.at("paths").entries() {
		w.path(path)
	}
	for _, schema := range document.at("components", "schemas").entries() {
		w.schema(schema)
	}
	return strings.TrimRight(w.text.String(), "\n") + "\n", w.err
}

// writer collects Markdown and remembers the first example that could not be read.
type writer struct {
	folder string
	text   strings.Builder
	err    error
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

func (w *writer) block(text string) {
	if text != "" {
		w.line("%s\n", text)
	}
}

func (w *writer) address(document node) {
	w.line("## Address and proof\n")
	for _, server := range document.at("servers").items() {
		w.line("`%s` – %s\n", server.at("url").text(), server.at("description").text())
		for _, variable := range server.at("variables").entries() {
			w.line("- `%s` is `%s` unless set otherwise. %s", variable.key,
				variable.value.at("default").text(), variable.value.at("description").text())
		}
		w.line("")
	}
	for _, scheme := range document.at("components", "securitySchemes").entries() {
		w.block(scheme.value.at("description").paragraphs())
	}
}

func (w *writer) path(path entry) {
	for _, method := range methods {
		operation := path.value.at(method)
		if operation.yaml == nil {
			continue
		}
		verb := strings.ToUpper(method)
		w.line("## %s: %s\n", verb, strings.TrimSuffix(operation.at("summary").text(), "."))
		w.line("```text\n%s %s\n```\n", verb, path.key)
		w.block(operation.at("description").paragraphs())
		w.bodies(operation.at("requestBody", "content"))
		w.answers(operation.at("responses"))
	}
}

// bodies shows the examples of a request.
func (w *writer) bodies(content node) {
	for _, media := range content.entries() {
		for _, example := range media.value.at("examples").entries() {
			w.line("%s\n", example.value.at("summary").text())
			w.example(example.value)
		}
	}
}

func (w *writer) answers(responses node) {
	w.line("| Answer | Meaning | Headers |\n| --- | --- | --- |")
	for _, response := range responses.entries() {
		var headers []string
		for _, header := range response.value.at("headers").entries() {
			headers = append(headers, "`"+header.key+"`")
		}
		w.line("| %s | %s | %s |", response.key, cell(response.value.at("description").text()), strings.Join(headers, " "))
	}
	w.line("")
	for _, response := range responses.entries() {
		for _, media := range response.value.at("content").entries() {
			for _, example := range media.value.at("examples").entries() {
				w.line("{{%% details title=\"%s: %s\" closed=\"true\" %%}}\n", response.key, example.value.at("summary").text())
				w.example(example.value)
				w.line("{{%% /details %%}}\n")
			}
		}
	}
}

// example shows an example file of the document.
func (w *writer) example(example node) {
	name := example.at("externalValue").text()
	text, err := os.ReadFile(filepath.Join(w.folder, filepath.FromSlash(name)))
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("reading the example %q: %w", name, err)
	}
	w.line("```json\n%s\n```\n", strings.TrimSpace(string(text)))
}

func (w *writer) schema(schema entry) {
	w.line("## %s\n", schema.key)
	w.block(schema.value.at("description").paragraphs())
	var required []string
	for _, name := range schema.value.at("required").items() {
		required = append(required, name.text())
	}
	w.line("| Field | Type | Meaning |\n| --- | --- | --- |")
	for _, field := range schema.value.at("properties").entries() {
		name := "`" + field.key + "`"
		if slices.Contains(required, field.key) {
			name += " (required)"
		}
		w.line("| %s | %s | %s |", name, cell(kind(schema.value, field)), cell(field.value.at("description").text()))
	}
	w.line("")
}

// kind names the type of a field with its limits, as a link where it is a schema of its own.
func kind(schema node, field entry) string {
	if target := refOf(schema, field.key); target != "" {
		return fmt.Sprintf("[%s](#%s)", target, strings.ToLower(target))
	}
	words := field.value.at("type").text()
	if target := lastWord(rawChild(field.value, "items").ref()); target != "" {
		words = fmt.Sprintf("list of [%s](#%s)", target, strings.ToLower(target))
	}
	if format := field.value.at("format").text(); format != "" {
		words += " (" + format + ")"
	}
	return words + limits(field.value)
}

// limits puts the bounds of a field into words.
func limits(field node) string {
	low, high := field.at("minimum").text(), field.at("maximum").text()
	switch {
	case low != "" && high != "":
		return fmt.Sprintf(", %s to %s", low, high)
	case low != "":
		return ", at least " + low
	case field.at("maxLength").text() != "":
		return fmt.Sprintf(", %s to %s characters", field.at("minLength").text(), field.at("maxLength").text())
	case field.at("maxItems").text() != "":
		return ", at most " + field.at("maxItems").text()
	}
	return ""
}

func refOf(schema node, field string) string {
	return lastWord(rawChild(schema.at("properties"), field).ref())
}

// rawChild gives the value of a key without following it when it is a reference.
func rawChild(n node, key string) node {
	if n.yaml == nil {
		return node{}
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if n.yaml.Content[i].Value == key {
			return node{yaml: n.yaml.Content[i+1], root: n.root}
		}
	}
	return node{}
}

func lastWord(reference string) string { return reference[strings.LastIndex(reference, "/")+1:] }

// cell keeps text from ending a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
