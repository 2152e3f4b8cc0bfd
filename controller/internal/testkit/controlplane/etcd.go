// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

const noSpace = "NOSPACE"

// alarm is one of etcd.
type alarm struct {
	MemberID string `json:"memberID"`
	Alarm    string `json:"alarm"`
}

// Full tells whether etcd has raised the alarm that it has no space left.
func (p *Plane) Full(ctx context.Context) (bool, error) {
	list, err := p.alarms(ctx)
	return len(list) > 0, err
}

// FreeSpace gives the space of what was deleted back to etcd, as an operator
// does, and ends the alarm.
func (p *Plane) FreeSpace(ctx context.Context) error {
	var status struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := p.ask(ctx, "maintenance/status", struct{}{}, &status); err != nil {
		return err
	}
	compaction := map[string]any{"revision": status.Header.Revision, "physical": true}
	if err := p.ask(ctx, "kv/compaction", compaction, nil); err != nil {
		return err
	}
	if err := p.ask(ctx, "maintenance/defragment", struct{}{}, nil); err != nil {
		return err
	}
	list, err := p.alarms(ctx)
	for _, a := range list {
		err = errors.Join(err, p.ask(ctx, "maintenance/alarm", map[string]any{"action": "DEACTIVATE", "memberID": a.MemberID, "alarm": noSpace}, nil))
	}
	return err
}

func (p *Plane) alarms(ctx context.Context) ([]alarm, error) {
	var answer struct {
		Alarms []alarm `json:"alarms"`
	}
	err := p.ask(ctx, "maintenance/alarm", map[string]any{"action": "GET", "alarm": noSpace}, &answer)
	return answer.Alarms, err
}

// ask calls the API of etcd in its JSON form. A nil answer is not read.
func (p *Plane) ask(ctx context.Context, method string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.etcdURL+"/v3/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking etcd for %s: %w", method, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking etcd for %s: %s", method, resp.Status)
	}
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("reading the answer of etcd to %s: %w", method, err)
	}
	return nil
}
