// SPDX-License-Identifier: Apache-2.0

// Package vectors reads the tables and cases below openapi/vectors.
//
// It owns their file format: order of keys, short forms that stand for long lists, identities of
// rows and cases. It does not own what they mean; the runner and the unit tests of each language
// do.
package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Expand turns a YAML document into JSON with the same order of keys and with its short forms
// written out: $repeat, $series and $names.
func Expand(document []byte) (json.RawMessage, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, fmt.Errorf("the document is empty")
	}
	var out bytes.Buffer
	if err := writeNode(&out, root.Content[0], ""); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// writeNode writes a node that stands under a key. The key matters to $series, which is a map of
// metrics under "metrics" and a list of pairs elsewhere.
func writeNode(out *bytes.Buffer, node *yaml.Node, key string) error {
	switch node.Kind {
	case yaml.MappingNode:
		if len(node.Content) == 2 && strings.HasPrefix(node.Content[0].Value, "$") {
			return writeShort(out, node, key)
		}
		return writeMap(out, []*yaml.Node{node})
	case yaml.SequenceNode:
		if key == "metrics" && slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return isShort(n, "$series") }) {
			return writeMap(out, node.Content)
		}
		return writeList(out, node)
	case yaml.AliasNode:
		return writeNode(out, node.Alias, key)
	}
	return writeScalar(out, node)
}

// writeMap writes one map that holds the keys of all given ones.
func writeMap(out *bytes.Buffer, parts []*yaml.Node) error {
	var members [][]byte
	for _, part := range parts {
		if isShort(part, "$series") {
			entries, err := series(part.Content[1])
			if err != nil {
				return err
			}
			for _, e := range entries {
				members = append(members, fmt.Appendf(nil, "%q:%s", e.name, e.value))
			}
			continue
		}
		for i := 0; i+1 < len(part.Content); i += 2 {
			var member bytes.Buffer
			member.Write(text(part.Content[i].Value))
			member.WriteByte(':')
			if err := writeNode(&member, part.Content[i+1], part.Content[i].Value); err != nil {
				return fmt.Errorf("%s: %w", part.Content[i].Value, err)
			}
			members = append(members, member.Bytes())
		}
	}
	out.WriteByte('{')
	out.Write(bytes.Join(members, []byte(",")))
	out.WriteByte('}')
	return nil
}

func writeList(out *bytes.Buffer, list *yaml.Node) error {
	var items [][]byte
	for _, node := range list.Content {
		var item bytes.Buffer
		if err := writeNode(&item, node, ""); err != nil {
			return err
		}
		written := item.Bytes()
		if isShort(node, "$series") { // its pairs become items of this list
			written = written[1 : len(written)-1]
		}
		items = append(items, written)
	}
	out.WriteByte('[')
	out.Write(bytes.Join(items, []byte(",")))
	out.WriteByte(']')
	return nil
}

func writeShort(out *bytes.Buffer, node *yaml.Node, key string) error {
	argument := node.Content[1]
	switch form := node.Content[0].Value; form {
	case "$repeat":
		repeated, err := repeat(argument)
		out.Write(text(repeated))
		return err
	case "$series":
		if key == "metrics" {
			return writeMap(out, []*yaml.Node{node})
		}
		return writeEntries(out, argument, func(e entry) string { return fmt.Sprintf("[%q,%q]", e.name, e.value) })
	case "$names":
		return writeEntries(out, argument, func(e entry) string { return strconv.Quote(e.name) })
	}
	return writeMap(out, []*yaml.Node{node}) // $float and the like are for the executors
}

func writeEntries(out *bytes.Buffer, argument *yaml.Node, form func(entry) string) error {
	entries, err := series(argument)
	items := make([]string, len(entries))
	for i, e := range entries {
		items[i] = form(e)
	}
	out.WriteString("[" + strings.Join(items, ",") + "]")
	return err
}

func writeScalar(out *bytes.Buffer, node *yaml.Node) error {
	switch node.ShortTag() {
	case "!!null":
		out.WriteString("null")
	case "!!bool", "!!int", "!!float":
		if !json.Valid([]byte(node.Value)) {
			return fmt.Errorf("line %d: %s is no JSON, put it in quotes", node.Line, node.Value)
		}
		out.WriteString(node.Value)
	default:
		out.Write(text(node.Value))
	}
	return nil
}

func isShort(node *yaml.Node, form string) bool {
	return node.Kind == yaml.MappingNode && len(node.Content) == 2 && node.Content[0].Value == form
}

type entry struct{ name, value string }

// longest is how many code points a value may have.
const longest = 64

// series reads [prefix, from, to], or [prefix, from, to, text] with the text 64 times as each value.
func series(argument *yaml.Node) ([]entry, error) {
	var parts []any
	if err := argument.Decode(&parts); err != nil {
		return nil, err
	}
	if len(parts) == 3 || len(parts) == 4 {
		prefix, isText := parts[0].(string)
		from, isFrom := parts[1].(int)
		to, isTo := parts[2].(int)
		if isText && isFrom && isTo {
			var entries []entry
			for i := from; i < to; i++ {
				value := strconv.Itoa(i)
				if len(parts) == 4 {
					value = string(text(strings.Repeat(fmt.Sprint(parts[3]), longest)))
				}
				entries = append(entries, entry{fmt.Sprintf("%s%03d", prefix, i), value})
			}
			return entries, nil
		}
	}
	return nil, fmt.Errorf("line %d: a series is [prefix, from, to] or [prefix, from, to, text]", argument.Line)
}

// repeat reads [text, times] or [before, text, times, after].
func repeat(argument *yaml.Node) (string, error) {
	var parts []string
	if err := argument.Decode(&parts); err != nil {
		return "", err
	}
	if len(parts) == 2 {
		parts = []string{"", parts[0], parts[1], ""}
	}
	if len(parts) == 4 {
		if times, err := strconv.Atoi(parts[2]); err == nil {
			return parts[0] + strings.Repeat(parts[1], times) + parts[3], nil
		}
	}
	return "", fmt.Errorf("line %d: a repetition is [text, times] or [before, text, times, after]", argument.Line)
}

// text writes JSON text with as few escapes as JSON allows.
func text(s string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // text can always be encoded
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
