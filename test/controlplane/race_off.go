//go:build !race

package controlplane

const detecting = false
