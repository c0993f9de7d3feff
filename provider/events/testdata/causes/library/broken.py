from ansible.module_utils.basic import AnsibleModule, missing_required_lib
raise RuntimeError('the reason')
