module github.com/milepost-dev/milepost/docs/examples/go

go 1.26.0

require github.com/milepost-dev/milepost/reporters/go v0.0.0

replace github.com/milepost-dev/milepost/reporters/go => ../../../reporters/go
