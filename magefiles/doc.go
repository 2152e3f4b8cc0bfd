//go:build mage

// Package main holds the mage targets that build, test and release Milepost.
package main
