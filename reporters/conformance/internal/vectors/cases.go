// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"encoding/json"
	"fmt"
)

// Case is one run of an executor against a server of its own.
type Case struct {
	ID          string             `json:"id"` // of the file, a slash, and that within the file
	Title       string             `json:"title"`
	Duties      []string           `json:"duties"`
	Needs       []string           `json:"needs"`       // capabilities
	Lacks       []string           `json:"lacks"`       // only for languages without these capabilities
	Environment map[string]*string `json:"environment"` // on top of a complete one; null takes a variable away
	Server      Server             `json:"server"`
	Steps       []Step             `json:"steps"`
}

// Server says how the server of a case listens.
type Server struct {
	Listen []string          `json:"listen"` // addresses, [127.0.0.1] when missing
	Host   string            `json:"host"`   // in the URL, the first address when missing
	Hosts  []string          `json:"hosts"`  // in the certificate, those of the URL and the addresses when missing
	TLS11  bool              `json:"tls11"`
	HTTP2  bool              `json:"http2"`
	Mode   string            `json:"mode"` // up, down or silent
	Answer []json.RawMessage `json:"answers"`
	Then   json.RawMessage   `json:"then"` // when the answers are used up; 200 when missing
}

// Step is one thing that happens in a case: the name of an action and its arguments.
type Step struct {
	Action    string
	Arguments json.RawMessage
}

// UnmarshalJSON reads {action: arguments}.
func (s *Step) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	if len(members) != 1 {
		return fmt.Errorf("a step has one action: %s", text)
	}
	for action, arguments := range members {
		s.Action, s.Arguments = action, arguments
	}
	return nil
}

// Cases reads every case of a folder of vectors, and makes those that follow from tables.
func Cases(folder string) (cases []Case, err error) {
	err = each(folder, func(id string, document json.RawMessage) error {
		var file struct {
			Cases []Case `json:"cases"`
		}
		if err := json.Unmarshal(document, &file); err != nil {
			return err
		}
		for _, c := range file.Cases {
			c.ID = id + "/" + c.ID
			cases = append(cases, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	tables, err := Tables(folder)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		derived, err := derive(table)
		if err != nil {
			return nil, fmt.Errorf("making cases of %s: %w", table.ID, err)
		}
		cases = append(cases, derived...)
	}
	return cases, nil
}
