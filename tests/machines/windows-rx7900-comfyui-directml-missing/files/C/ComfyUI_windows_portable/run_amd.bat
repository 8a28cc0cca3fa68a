.\python_embeded\python.exe -s ComfyUI\main.py --windows-standalone-build --directml
pause
