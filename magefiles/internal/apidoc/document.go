// SPDX-License-Identifier: Apache-2.0

// Package apidoc renders an OpenAPI document as a page of the documentation site.
//
// It owns the form of the page. Every word of its content comes from the document and its example
// files, so the page cannot drift from the API.
package apidoc

import (
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is a part of the document that knows how to follow references. The zero node is empty.
type node struct {
	yaml *yaml.Node
	root *yaml.Node
}

// load reads the document.
func load(path string) (node, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return node{}, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return node{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(document.Content) == 0 {
		return node{}, fmt.Errorf("reading %s: it is empty", path)
	}
	return node{yaml: document.Content[0], root: document.Content[0]}, nil
}

// at descends by keys and follows references on the way. A missing key gives the empty node.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		n = n.child(key)
	}
	return n
}

func (n node) child(key string) node {
	for _, entry := range n.entries() {
		if entry.key == key {
			return entry.value
		}
	}
	return node{root: n.root}
}

type entry struct {
	key   string
	value node
}

// entries lists the pairs of a mapping in the order of the document.
func (n node) entries() (pairs []entry) {
	if n.yaml == nil || n.yaml.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		value := node{yaml: n.yaml.Content[i+1], root: n.root}
		pairs = append(pairs, entry{key: n.yaml.Content[i].Value, value: value.resolved()})
	}
	return pairs
}

// items lists the members of a sequence.
func (n node) items() (members []node) {
	if n.yaml == nil || n.yaml.Kind != yaml.SequenceNode {
		return nil
	}
	for _, member := range n.yaml.Content {
		members = append(members, node{yaml: member, root: n.root}.resolved())
	}
	return members
}

// ref is the last word of the reference that n is, empty when it is none.
func (n node) ref() string {
	if n.yaml == nil || n.yaml.Kind != yaml.MappingNode || len(n.yaml.Content) != 2 || n.yaml.Content[0].Value != "$ref" {
		return ""
	}
	return n.yaml.Content[1].Value
}

// resolved follows a reference within the document.
func (n node) resolved() node {
	target, local := strings.CutPrefix(n.ref(), "#/")
	if !local {
		return n
	}
	return node{yaml: n.root, root: n.root}.at(strings.Split(target, "/")...)
}

// text is the value of a scalar on one line, empty when there is none.
func (n node) text() string {
	if n.yaml == nil {
		return ""
	}
	return strings.Join(strings.Fields(n.yaml.Value), " ")
}

// paragraphs is the value of a scalar with its line breaks.
func (n node) paragraphs() string {
	if n.yaml == nil {
		return ""
	}
	return strings.TrimSpace(n.yaml.Value)
}
