// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"fmt"
	"os"
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
	return os.WriteFile(target, fmt.Appendf(nil, pageForm, values, values, table), 0o644)
}
