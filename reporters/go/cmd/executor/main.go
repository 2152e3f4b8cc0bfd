// SPDX-License-Identifier: Apache-2.0

// Command executor drives the reporter for the conformance runner, in the JSON lines described in
// reporters/conformance/PROTOCOL.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	milepost "github.com/milepost-dev/milepost/reporters/go"
)

func main() {
	e := &executor{}
	defer func() { e.m.Close() }() // as a program would
	requests := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := requests.ReadBytes('\n')
		if err != nil {
			return // the program is done
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(os.Stderr, "executor: reading a request:", err)
			continue
		}
		if r.Op == "exit" {
			switch r.How {
			case "exit":
				milepost.Exit(r.Code)
			case "throw":
				panic("an error that nobody catches")
			}
			return
		}
		if err := answers.Encode(e.answer(r)); err != nil {
			return
		}
	}
}

// answer carries out a request and turns a panic that leaves the reporter into an answer.
func (e *executor) answer(r request) (a answer) {
	defer func() {
		if fault := recover(); fault != nil {
			a = answer{"raised": fmt.Sprint(fault)}
		}
		a["id"] = r.ID
	}()
	carryOut, known := operations[r.Op]
	if !known {
		return answer{"unsupported": true}
	}
	return carryOut(e, r)
}
