// SPDX-License-Identifier: Apache-2.0

package sitecheck

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	snippet   = regexp.MustCompile(`\{\{[<%]\s*snippet\s([^}]*?)\s*/?[>%]\}\}`)
	parameter = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// Snippets checks that every snippet of the pages names a file of the examples, and a region that
// begins and ends there once. It needs no built site.
func Snippets(content, examples fs.FS) error {
	var problems []error
	err := fs.WalkDir(content, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(content, name)
		for _, found := range snippet.FindAllStringSubmatch(string(text), -1) {
			if err := checkSnippet(examples, found[1]); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		}
		return err
	})
	return errors.Join(append(problems, err)...)
}

func checkSnippet(examples fs.FS, call string) error {
	values := map[string]string{}
	for _, found := range parameter.FindAllStringSubmatch(call, -1) {
		values[found[1]] = found[2]
	}
	text, err := fs.ReadFile(examples, values["file"])
	if err != nil {
		return fmt.Errorf("snippet %q: no such file among the examples", values["file"])
	}
	region := values["region"]
	if region == "" {
		return nil
	}
	for _, mark := range []string{"[start:" + region + "]", "[end:" + region + "]"} {
		if count := strings.Count(string(text), mark); count != 1 {
			return fmt.Errorf("snippet %q: %s stands there %d times, want once", values["file"], mark, count)
		}
	}
	return nil
}
