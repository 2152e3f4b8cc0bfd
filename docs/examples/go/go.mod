module github.com/milepost-dev/milepost/docs/examples/go

go 1.26.0
