module github.com/milepost-dev/milepost/reporters/go

go 1.24.0
