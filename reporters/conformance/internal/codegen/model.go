// SPDX-License-Identifier: Apache-2.0

// Package codegen makes the wire types of every reporter from the OpenAPI document.
//
// It owns the model that templates see and the table of tasks. It does not own how a language looks:
// the templates in reporters/codegen do.
package codegen

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is what templates see of the OpenAPI document.
type Document struct {
	Version string // of the document
	Path    string // of the report endpoint, with {namespace} and {name}
	Types   []Type // in the order of the document
}

// Type is one object schema.
type Type struct {
	Name   string // as in the document, PascalCase
	About  string // first sentence of its description
	Sent   bool   // whether reporters send it; they only read the others
	Fields []Field
}

// Field is one property. Free-form objects are left out: reporters have no use for them.
type Field struct {
	Name     string // as on the wire, camelCase
	About    string // first sentence of its description
	Kind     string // integer, text, object or list
	Of       string // type name of an object or of the items of a list
	Required bool
	Limits   []Limit
}

// Limit is a bound that the document sets on a field, such as maxLength 64.
type Limit struct {
	Name  string // as in the document, camelCase
	Value string
}

// Limits lists the bounds of all fields that reporters send.
func (d Document) Limits() (limits []NamedLimit) {
	for _, t := range d.Types {
		for _, f := range t.Fields {
			for _, l := range f.Limits {
				if t.Sent {
					limits = append(limits, NamedLimit{t.Name, f.Name, l.Name, l.Value})
				}
			}
		}
	}
	return limits
}

// NamedLimit is a bound with the place it belongs to.
type NamedLimit struct{ Type, Field, Limit, Value string }

// schema is the part of an OpenAPI schema that the report API uses.
type schema struct {
	Ref         string    `yaml:"$ref"`
	Type        string    `yaml:"type"`
	Description string    `yaml:"description"`
	Required    []string  `yaml:"required"`
	Properties  yaml.Node `yaml:"properties"`
	Items       *schema   `yaml:"items"`
	Minimum     string    `yaml:"minimum"`
	Maximum     string    `yaml:"maximum"`
	MinLength   string    `yaml:"minLength"`
	MaxLength   string    `yaml:"maxLength"`
	MaxItems    string    `yaml:"maxItems"`
}

// sentRoot is the schema of the body that reporters post.
const sentRoot = "TrainJobStatusUpdate"

// Read reads the OpenAPI document.
func Read(path string) (Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Document{}, err
	}
	var raw struct {
		Info struct {
			Version string `yaml:"version"`
		} `yaml:"info"`
		Paths      yaml.Node `yaml:"paths"`
		Components struct {
			Schemas yaml.Node `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return Document{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(raw.Paths.Content) != 2 {
		return Document{}, fmt.Errorf("reading %s: reporters know one path, not %d", path, len(raw.Paths.Content)/2)
	}
	doc := Document{Version: raw.Info.Version, Path: raw.Paths.Content[0].Value}
	for name, node := range members(&raw.Components.Schemas) {
		t, err := readType(name, node)
		if err != nil {
			return Document{}, fmt.Errorf("reading schema %s of %s: %w", name, path, err)
		}
		doc.Types = append(doc.Types, t)
	}
	if err := doc.markSent(sentRoot); err != nil {
		return Document{}, err
	}
	doc.finish()
	return doc, nil
}

// finish describes references as what they refer to, and lets reporters read what another server
// sends incompletely: only what they send themselves has required fields.
func (d Document) finish() {
	about := map[string]string{}
	for _, t := range d.Types {
		about[t.Name] = t.About
	}
	for _, t := range d.Types {
		for i := range t.Fields {
			f := &t.Fields[i]
			f.Required = f.Required && t.Sent
			if f.About == "" {
				f.About = about[f.Of]
			}
		}
	}
}

// members goes through a mapping in the order of the document.
func members(node *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, node.Content[i+1]) {
				return
			}
		}
	}
}

func readType(name string, node *yaml.Node) (Type, error) {
	var s schema
	if err := node.Decode(&s); err != nil {
		return Type{}, err
	}
	if s.Type != "object" {
		return Type{}, fmt.Errorf("only objects can be generated, not %q", s.Type)
	}
	t := Type{Name: name, About: sentence(s.Description)}
	for property, node := range members(&s.Properties) {
		f, wanted, err := readField(property, node)
		if err != nil {
			return Type{}, fmt.Errorf("property %s: %w", property, err)
		}
		if f.Required = slices.Contains(s.Required, property); wanted {
			t.Fields = append(t.Fields, f)
		}
	}
	return t, nil
}

func readField(name string, node *yaml.Node) (f Field, wanted bool, err error) {
	var s schema
	if err := node.Decode(&s); err != nil {
		return Field{}, false, err
	}
	f = Field{Name: name, About: sentence(s.Description)}
	switch {
	case s.Ref != "":
		f.Kind, f.Of = "object", target(s.Ref)
	case s.Type == "integer":
		f.Kind = "integer"
	case s.Type == "string":
		f.Kind = "text"
	case s.Type == "array" && s.Items != nil && s.Items.Ref != "":
		f.Kind, f.Of = "list", target(s.Items.Ref)
	case s.Type == "object":
		return Field{}, false, nil
	default:
		return Field{}, false, fmt.Errorf("no template knows the type %q", s.Type)
	}
	for _, l := range []Limit{
		{"minimum", s.Minimum},
		{"maximum", s.Maximum},
		{"minLength", s.MinLength},
		{"maxLength", s.MaxLength},
		{"maxItems", s.MaxItems},
	} {
		if l.Value != "" {
			f.Limits = append(f.Limits, l)
		}
	}
	return f, true, nil
}

// markSent marks a type and all that it holds.
func (d Document) markSent(name string) error {
	i := slices.IndexFunc(d.Types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return fmt.Errorf("the document has no schema %s", name)
	}
	d.Types[i].Sent = true
	for _, f := range d.Types[i].Fields {
		if f.Of == "" {
			continue
		}
		if err := d.markSent(f.Of); err != nil {
			return err
		}
	}
	return nil
}

// target is the name of the schema that a reference points to.
func target(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// sentence is the first sentence of a description on one line.
func sentence(description string) string {
	words := strings.Join(strings.Fields(description), " ")
	if first, _, more := strings.Cut(words, ". "); more {
		return first + "."
	}
	return words
}
