package controller

import "github.com/crossplane-ansible/crossplane-ansible/apis/common"

func historyLimit(run common.AnsibleRun) int {
	if l := run.Parameters().HistoryLimit; l != nil {
		return min(int(*l), common.MaxHistoryLimit)
	}

	return common.DefaultHistoryLimit
}
