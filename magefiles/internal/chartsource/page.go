// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
)

// pageForm is a page of the documentation site: front matter, then the table. Its places are the
// source, the source again, and the table.
const pageForm = "---\n# Code generated from %s. DO NOT EDIT.\ntitle: Chart values\nweight: 2\n---\n" + `
Every value of the Helm chart, with its default. This page is made from ` + "`%s`" + `. Unknown values are refused when the
chart is installed, so a misspelled one cannot go unnoticed.

%s
`

// WritePage makes the page of the documentation site that lists all values of the chart.
func WritePage(values, target string) error {
	text, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	table, err := valuesTable(text)
	if err != nil {
		return fmt.Errorf("reading the comments of %s: %w", values, err)
	}
	return os.WriteFile(target, fmt.Appendf(nil, pageForm, values, values, narrow(table)), 0o644)
}

// row is a row of the table: value, default, meaning.
var row = regexp.MustCompile("(?m)^\\| `([^`]*)` \\| `([^`]*)` \\| (.*) \\|$")

// narrow puts the default below its value and lets the long paths of values break at their dots,
// since a page has less room for a table than a README has.
func narrow(table string) string {
	table = strings.Replace(table, "| Value | Default | What it does |\n| --- | --- | --- |", "| Value and default | What it does |\n| --- | --- |", 1)
	return row.ReplaceAllStringFunc(table, func(line string) string {
		cells := row.FindStringSubmatch(line)
		path := strings.ReplaceAll(html.EscapeString(cells[1]), ".", ".<wbr>")
		return fmt.Sprintf("| <code>%s</code><br><small>%s</small> | %s |", path, html.EscapeString(cells[2]), cells[3])
	})
}
