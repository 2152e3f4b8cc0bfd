module github.com/milepost-dev/milepost/docs

go 1.26.0

// The theme of the site. No Go code imports it: `go mod tidy` would drop the line.
require github.com/imfing/hextra v0.9.7 // indirect
