"""A Confluent Cloud that says no: the planes of one organization, on loopback.

Keys work on their own plane only, and only after a while. Role bindings take effect late. Objects are
provisioned over time, and a Tableflow topic is refused until its topic is seen. The customer's role in AWS is
really taken before anything that leans on it runs. What is gone answers 403 or 404, as in the cloud itself.

Bodies are judged by the small models in `bodies`. While this was made, requests and answers were held against
Confluent's OpenAPI document; `tests/cloud/local/confluent/openapi.py` does it again, given the document.
"""
