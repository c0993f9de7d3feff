from ansible.module_utils.basic import AnsibleModule, missing_required_lib
AnsibleModule({}).fail_json(msg=missing_required_lib('distlib'), exception='Traceback (most recent call last):\n  File "x"\nModuleNotFoundError: No module named distlib')
