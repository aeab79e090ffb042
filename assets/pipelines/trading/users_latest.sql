-- Each user as the newest record says. The source keeps every record and has no such table; its nine users
-- come again and again with another region and gender. Records of one user lie in one partition.
SELECT userid, registertime, regionid, gender, `$$timestamp`, `$$offset`
FROM users
