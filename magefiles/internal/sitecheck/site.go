// SPDX-License-Identifier: Apache-2.0

// Package sitecheck checks the documentation: its sources and the site built from them.
//
// It owns two promises: every reference leads somewhere, and a reader's browser asks no other host
// for anything. It does not build the site.
package sitecheck

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// page is what a built page refers to and can be referred to by.
type page struct {
	links  []string // targets of a elements
	loads  []string // what a browser fetches to show the page
	ids    []string
	styles []string // text of style elements and attributes
}

// Site checks every page and style sheet of a built site. The error names all that is wrong.
func Site(site fs.FS) error {
	pages, problems := readPages(site)
	for _, name := range sortedKeys(pages) {
		problems = append(problems, checkPage(site, pages, name)...)
	}
	problems = append(problems, checkStyleSheets(site)...)
	if len(pages) == 0 {
		problems = append(problems, errors.New("the site has no page"))
	}
	return errors.Join(problems...)
}

func readPages(site fs.FS) (pages map[string]page, problems []error) {
	pages = map[string]page{}
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		file, err := site.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		root, err := html.Parse(file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		var p page
		p.collect(root)
		pages[name] = p
		return nil
	})
	if err != nil {
		problems = append(problems, err)
	}
	return pages, problems
}

// loading names the attribute by which an element makes a browser fetch something.
var loading = map[string][]string{
	"script": {"src"}, "img": {"src"}, "iframe": {"src"}, "source": {"src"}, "video": {"src", "poster"},
	"audio": {"src"}, "embed": {"src"}, "object": {"data"}, "track": {"src"}, "use": {"href"}, "image": {"href"},
}

func (p *page) collect(n *html.Node) {
	if n.Type == html.ElementNode {
		p.element(n)
	}
	for child := range n.ChildNodes() {
		p.collect(child)
	}
}

func (p *page) element(n *html.Node) {
	attributes := map[string]string{}
	for _, a := range n.Attr {
		attributes[a.Key] = a.Val
	}
	p.ids = appendText(p.ids, attributes["id"])
	p.styles = appendText(p.styles, attributes["style"])
	switch {
	case n.Data == "a":
		p.links = appendText(p.links, attributes["href"])
	case n.Data == "link" && attributes["rel"] != "canonical":
		p.loads = appendText(p.loads, attributes["href"])
	case n.Data == "style" && n.FirstChild != nil:
		p.styles = appendText(p.styles, n.FirstChild.Data)
	}
	for _, name := range loading[n.Data] {
		p.loads = appendText(p.loads, attributes[name])
	}
	for candidate := range strings.SplitSeq(attributes["srcset"], ",") {
		address, _, _ := strings.Cut(strings.TrimSpace(candidate), " ")
		p.loads = appendText(p.loads, address)
	}
}

func appendText(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

func checkPage(site fs.FS, pages map[string]page, name string) (problems []error) {
	for _, load := range pages[name].loads {
		if foreign(load) {
			problems = append(problems, fmt.Errorf("%s loads %s from another host", name, load))
		} else if err := resolves(site, pages, name, load); err != nil {
			problems = append(problems, err)
		}
	}
	for _, link := range pages[name].links {
		if foreign(link) {
			continue // a link that a reader may follow
		}
		if err := resolves(site, pages, name, link); err != nil {
			problems = append(problems, err)
		}
	}
	for _, style := range pages[name].styles {
		if found := foreignStyle.FindString(style); found != "" {
			problems = append(problems, fmt.Errorf("%s has a style that loads %s", name, found))
		}
	}
	return problems
}

// foreign tells whether an address leaves the site.
func foreign(address string) bool {
	target, err := url.Parse(address)
	return err != nil || target.Host != "" || (target.Scheme != "" && target.Scheme != "data")
}

// resolves returns an error when a reference of a page leads to no file, or to no such place in it.
func resolves(site fs.FS, pages map[string]page, from, reference string) error {
	target, err := url.Parse(reference)
	if err != nil || target.Scheme == "data" {
		return err
	}
	name := from
	if target.Path != "" {
		name = strings.TrimPrefix(path.Join("/", path.Dir(from), target.Path), "/")
		if strings.HasPrefix(target.Path, "/") {
			name = strings.TrimPrefix(path.Clean(target.Path), "/")
		}
		if info, err := fs.Stat(site, path.Join(".", name)); err == nil && info.IsDir() {
			name = path.Join(name, "index.html")
		}
	}
	if _, err := fs.Stat(site, name); err != nil {
		return fmt.Errorf("%s refers to %s, which is not there", from, reference)
	}
	if built, isPage := pages[name]; isPage && target.Fragment != "" && !slices.Contains(built.ids, target.Fragment) {
		return fmt.Errorf("%s refers to %s, but %s has no such heading", from, reference, name)
	}
	return nil
}

var foreignStyle = regexp.MustCompile(`(?:url\(|@import)\s*["']?(?:https?:)?//[^"')\s]+`)

func checkStyleSheets(site fs.FS) (problems []error) {
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".css" {
			return err
		}
		text, err := fs.ReadFile(site, name)
		if found := foreignStyle.Find(text); found != nil {
			problems = append(problems, fmt.Errorf("%s loads %s", name, found))
		}
		return err
	})
	if err != nil {
		problems = append(problems, err)
	}
	return problems
}

func sortedKeys(pages map[string]page) []string {
	names := make([]string, 0, len(pages))
	for name := range pages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
