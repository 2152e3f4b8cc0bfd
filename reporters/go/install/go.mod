module example.com/train

go 1.24
