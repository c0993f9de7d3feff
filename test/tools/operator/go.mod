// The tests move the sample in it, and build nothing of it: go mod tidy would add
// what it is built of.
module github.com/crossplane-ansible/crossplane-ansible/test/tools/operator

go 1.26.0

require github.com/operator-framework/ansible-operator-plugins v1.42.0
