from ansible.module_utils.basic import AnsibleModule, missing_required_lib
print('the reason')
raise SystemExit(1)
