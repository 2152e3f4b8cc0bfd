// SPDX-License-Identifier: Apache-2.0

package jobfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"
)

// YAML encodes an object as kubectl does. Whatever its texts hold, the result is
// printable.
func YAML(object any) ([]byte, error) {
	text, err := encode(object, yamlEscape)
	if err != nil {
		return nil, err
	}
	// What is nearly JSON by now is YAML with every unprintable character escaped.
	// The detour matters: a YAML parser refuses some of them in any other form.
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("encoding as YAML: %w", err)
	}
	layOut(&document)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(&document), encoder.Close()); err != nil {
		return nil, fmt.Errorf("encoding as YAML: %w", err)
	}
	return printable(out.String(), yamlEscape), nil
}

// layOut turns the one-line form of JSON into the usual form of YAML, with sorted
// keys. Texts with unprintable characters are quoted: the encoder lets some of
// those through, and an escape can stand only between quotes.
func layOut(node *yaml.Node) {
	node.Style = 0
	switch node.Kind {
	case yaml.ScalarNode:
		if strings.ContainsFunc(node.Value, isUnprintable) {
			node.Style = yaml.DoubleQuotedStyle
		}
	case yaml.MappingNode:
		pairs := slices.Collect(slices.Chunk(node.Content, 2))
		slices.SortStableFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
		node.Content = slices.Concat(pairs...)
	}
	for _, child := range node.Content {
		layOut(child)
	}
}

func yamlEscape(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// JSON encodes an object with indents. Characters that JSON lets through although
// a terminal may act on them are escaped.
func JSON(object any) ([]byte, error) {
	return encode(object, func(r rune) string {
		var out strings.Builder
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
		return out.String()
	})
}

// encode writes JSON with an escape for every character that is not printable.
// Such characters can stand only in strings, where the escape means the same.
func encode(object any, escape func(rune) string) ([]byte, error) {
	text, err := json.MarshalIndent(object, "", "    ")
	if err != nil {
		return nil, fmt.Errorf("encoding as JSON: %w", err)
	}
	return append(printable(string(text), escape), '\n'), nil
}

// printable escapes what is not printable in a text where that can stand only
// between quotes.
func printable(text string, escape func(rune) string) []byte {
	var out bytes.Buffer
	for _, r := range text {
		if isUnprintable(r) {
			out.WriteString(escape(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

func isUnprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
